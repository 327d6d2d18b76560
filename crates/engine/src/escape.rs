//! Text from outside, made safe to show on a terminal.
//!
//! Stored data is never altered: only what a person is shown passes through here. What is escaped can move the
//! cursor, run a terminal command (OSC), reorder the line (bidi) or hide text (tags).

use std::borrow::Cow;
use std::fmt::Write;

/// One line: every control byte, line breaks included, comes out visible.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, is_unsafe)
}

/// Several lines: as [`escape`], but `\n` stays a line break and a tab stays a tab.
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

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}'    // bidi marks
            | '\u{202a}'..='\u{202e}'               // bidi embeddings and overrides
            | '\u{2066}'..='\u{2069}'               // bidi isolates
            | '\u{2028}' | '\u{2029}'               // line and paragraph separators
            | '\u{200b}' | '\u{2060}' | '\u{feff}'  // invisible, and never needed to join letters
            | '\u{e0000}'..='\u{e007f}') // tags: whole sentences nobody sees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(escape("héllo wörld ✓ 👩‍💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_bidi_and_osc_are_visible() {
        assert_eq!(escape("a\x1b]0;t\x07b"), "a\\u{1b}]0;t\\u{7}b");
        assert_eq!(escape("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert_eq!(escape("a\r\n\tb\u{9b}31m\u{7f}"), "a\\r\\n\\tb\\u{9b}31m\\u{7f}");
        assert_eq!(escape("x\u{e0041}"), "x\\u{e0041}");
    }

    #[test]
    fn several_lines_keep_their_breaks_only() {
        assert_eq!(escape_lines("a\n\tb\r\x1b"), "a\n\tb\\r\\u{1b}");
    }
}
