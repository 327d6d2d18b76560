//! Removes rustdoc links from schema descriptions.

use serde_json::Value;

/// Turns rustdoc links in descriptions into plain code, because readers of a schema cannot follow them.
pub fn remove_links(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::String(text) if key == "description" => *text = without_links(text),
                    _ => remove_links(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove_links),
        _ => {}
    }
}

fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("[`") {
        let Some(length) = rest[start + 2..].find("`]") else { break };
        let (name, after) = (&rest[start + 1..start + 2 + length + 1], &rest[start + 2 + length + 2..]);
        plain.push_str(&rest[..start]);
        // Readers know the last part of a path.
        let name = name.trim_matches('`').rsplit("::").next().unwrap_or_default();
        plain.push_str(&format!("`{name}`"));
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_plain_code() {
        assert_eq!(without_links("See [`Self::x`](crate::y) and [`a::B`], [1]."), "See `x` and `B`, [1].");
        assert_eq!(without_links("open [`x"), "open [`x");
    }
}
