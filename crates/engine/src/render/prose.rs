//! Renders Markdown for a terminal: headings, lists, quotes, code and emphasis, wrapped to the width. The line
//! breaks of the author are kept, because most texts of beads are written with them. Piped text stays as it is.

use std::borrow::Cow;

use super::emphasis::emphasis;
use super::style::Style;
use super::wrap::wrap_after;
use crate::escape::{escape, escape_lines};

/// Returns a text for display below a heading, indented by `indent`.
pub fn prose(text: &str, indent: &str, style: Style) -> String {
    let text = text.trim_end();
    let Some(width) = style.width() else {
        let escaped = escape_lines(text);
        return escaped.lines().map(|line| format!("{indent}{line}\n")).collect();
    };
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        match fence {
            Some(end) if start.starts_with(end) => fence = None,
            Some(_) => push(&mut out, &format!("{indent}    {}", style.code(&code(line)))),
            None if start.starts_with("```") => fence = Some("```"),
            None if start.starts_with("~~~") => fence = Some("~~~"),
            None => push(&mut out, &block(line, indent, width, style)),
        }
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Renders one line outside a code block.
fn block(line: &str, indent: &str, width: usize, style: Style) -> String {
    let line = code(line);
    let start = line.trim_start_matches(' ');
    let depth = line.len() - start.len();
    if let Some(heading) = heading(start) {
        return style.bold(&wrap_after(heading, indent, indent, width));
    }
    let (marker, text) = item(start).unwrap_or((Cow::Borrowed(""), start));
    // Indented code and tables lose their meaning when they are wrapped.
    if marker.is_empty() && (depth >= 4 || start.starts_with('|')) {
        return format!("{indent}{line}");
    }
    let first = format!("{indent}{}{marker}", " ".repeat(depth));
    let next = if marker.starts_with('│') {
        first.clone()
    } else {
        format!("{indent}{}", " ".repeat(depth + marker.chars().count()))
    };
    wrap_after(&emphasis(text, style), &first, &next, width)
}

/// Escapes a line and replaces its tabs.
fn code(line: &str) -> String {
    escape(&line.replace('\t', "    ")).into_owned()
}

/// Returns the text of a heading.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6)
        .contains(&level)
        .then(|| text.strip_prefix(' '))
        .flatten()
        .map(|text| text.trim_end_matches('#').trim())
}

/// Splits a list item or a quote into its marker, as it is shown, and its text.
fn item(line: &str) -> Option<(Cow<'static, str>, &str)> {
    if let Some(text) = line.strip_prefix("> ") {
        return Some(("│ ".into(), text));
    }
    if let Some(text) = ["- ", "* ", "+ "].iter().find_map(|marker| line.strip_prefix(marker)) {
        return Some(match text.split_at_checked(4) {
            Some(("[ ] ", text)) => ("☐ ".into(), text),
            Some(("[x] " | "[X] ", text)) => ("☑ ".into(), text),
            _ => ("• ".into(), text),
        });
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let text = line[digits..].strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    (1..=3).contains(&digits).then(|| (format!("{}. ", &line[..digits]).into(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Output;

    fn shown(text: &str, color: bool) -> String {
        prose(text, "", Style::new(&Output { color, width: Some(24), ..Output::default() }))
    }

    #[test]
    fn blocks_are_rendered_and_wrapped() {
        let text = "# Why it fails\n\nThe quick brown fox jumps over it.\n\n- one item that is too long\n  - [x] done\n1. first\n> quoted\n\n```rust\nlet x = 1; // is never wrapped, however long\n```\n";
        assert_eq!(
            shown(text, false),
            "Why it fails\n\nThe quick brown fox\njumps over it.\n\n• one item that is too\n  long\n  ☑ done\n1. first\n│ quoted\n\n    let x = 1; // is never wrapped, however long\n"
        );
    }

    #[test]
    fn emphasis_needs_colors() {
        assert_eq!(shown("a `b` **c** 2 * 3 `", false), "a `b` **c** 2 * 3 `\n");
        let colored = shown("a `b` **c** 2 * 3 `", true);
        assert!(!colored.contains("`b`") && !colored.contains("**"), "{colored:?}");
        assert!(colored.contains("\u{1b}[") && colored.ends_with(" 2 * 3 `\n"), "{colored:?}");
        let wrapped = shown("**one two three four five six**", true);
        assert_eq!(wrapped.lines().count(), 2, "colors take no columns: {wrapped:?}");
        assert!(wrapped.lines().all(|line| line.ends_with("\u{1b}[0m")), "{wrapped:?}");
    }

    #[test]
    fn controls_are_escaped_and_piped_text_is_raw() {
        assert_eq!(shown("x\u{1b}[31m", false), "x\\u{1b}[31m\n");
        let piped = Output::default();
        assert_eq!(prose("# raw\n- text\n\n", "  ", Style::new(&piped)), "  # raw\n  - text\n");
    }
}
