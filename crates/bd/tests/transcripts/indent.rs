//! JSON on one line, spread over several for readers. The order of the fields and the spelling of each value stay.

/// Returns a line of JSON indented, or nothing if the line is no JSON object or array.
pub fn indent(line: &str) -> Option<String> {
    if !line.starts_with(['{', '[']) || serde_json::from_str::<serde_json::Value>(line).is_err() {
        return None;
    }
    let mut out = String::new();
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        let is_empty = matches!((char, chars.peek()), ('{', Some('}')) | ('[', Some(']')));
        match char {
            _ if in_string => {
                out.push(char);
                in_string = escaped || char != '"';
                escaped = char == '\\' && !escaped;
            }
            '"' => {
                out.push(char);
                in_string = true;
            }
            '{' | '[' if is_empty => out.extend([char, chars.next().unwrap()]),
            '{' | '[' => {
                depth += 1;
                out.push(char);
                break_line(&mut out, depth);
            }
            '}' | ']' => {
                depth -= 1;
                break_line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(char);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push(char),
        }
    }
    Some(out)
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

#[test]
fn only_layout_changes() {
    let line = r#"{"b":[],"a":[1,{"x":"{\"y\": [2]}, \\"}],"c":{}}"#;
    let indented = "{\n  \"b\": [],\n  \"a\": [\n    1,\n    {\n      \"x\": \"{\\\"y\\\": [2]}, \\\\\"\n    }\n  ],\n  \"c\": {}\n}";
    assert_eq!(indent(line).unwrap(), indented);
    assert_eq!(indent("{not JSON}"), None);
    assert_eq!(indent("12"), None);
}
