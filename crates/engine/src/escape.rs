//! Escapes untrusted text before it is shown on a terminal.
//!
//! Stored data is never altered; only displayed text is escaped. The escaped characters can move the cursor,
//! run a terminal command (OSC), reorder the line (bidi) or hide text (tags).

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes every control character, including line breaks, for display on one line.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, is_unsafe)
}

/// Escapes like [`escape`], but keeps line feeds and tabs.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| !matches!(c, '\n' | '\t') && is_unsafe(c))
}

fn escape_if(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !bad(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            _ => write!(safe, "\\u{{{:x}}}", u32::from(c)).expect("a String takes everything"),
        }
    }
    Cow::Owned(safe)
}

/// Escapes such characters in a JSON document as `\\u` sequences. They can only occur in strings, so the
/// meaning of the document does not change.
pub fn escape_json(text: String) -> String {
    // A pretty-printed document has line feeds between its strings.
    let bad = |c: char| c != '\n' && is_unsafe(c);
    // JSON already escapes all other ASCII control characters, and most long documents are ASCII.
    if (text.is_ascii() && !text.contains('\u{7f}')) || !text.contains(bad) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if bad(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(safe, "\\u{unit:04x}").expect("a String takes everything");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}'    // bidi marks
            | '\u{202a}'..='\u{202e}'               // bidi embeddings and overrides
            | '\u{2066}'..='\u{2069}'               // bidi isolates
            | '\u{2028}' | '\u{2029}'               // line and paragraph separators
            | '\u{200b}' | '\u{2060}' | '\u{feff}'  // invisible, and never needed to join letters
            | '\u{e0000}'..='\u{e007f}') // tags, which can hide whole sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(escape("héllo wörld ✓ 👩‍💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_bidi_and_osc_characters_are_made_visible() {
        assert_eq!(escape("a\x1b]0;t\x07b"), "a\\u{1b}]0;t\\u{7}b");
        assert_eq!(escape("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(escape("a\r\n\tb\u{9b}31m\u{7f}"), "a\\r\\n\\tb\\u{9b}31m\\u{7f}");
        assert_eq!(escape("x\u{e0041}"), "x\\u{e0041}");
    }

    #[test]
    fn escaped_json_is_equivalent_and_hides_nothing() {
        let value = serde_json::json!({"a\u{202e}": "b\u{9b}\u{7f}\u{e0041}\u{1b}\n é", "c": ["\u{feff}"]});
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let safe = escape_json(text);
            assert!(!safe.contains(|c| c != '\n' && is_unsafe(c)), "{safe}");
            assert!(safe.contains("\\udb40\\udc41") && safe.contains('é'), "{safe}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
        }
    }

    #[test]
    fn escape_lines_keeps_line_feeds_and_tabs() {
        assert_eq!(escape_lines("a\n\tb\r\x1b"), "a\n\tb\\r\\u{1b}");
    }
}
