//! A section of a text between two markers.

/// The markers around our section. A remark may follow the first marker on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    pub begin: &'static str,
    /// The end of the first marker's line, after the remark.
    pub close: &'static str,
    pub end: &'static str,
}

impl Marks {
    /// Returns the text with our section, in its old place or at the end.
    pub fn with(self, text: &str, remark: &str, ours: &str) -> String {
        let block = format!("{}{remark}{}\n{ours}{}\n", self.begin, self.close, self.end);
        match self.find(text) {
            Some((start, end)) => format!("{}{block}{}", &text[..start], &text[end..]),
            None if text.is_empty() => block,
            None => format!("{}\n\n{block}", text.trim_end_matches('\n')),
        }
    }

    /// Returns the text without our section.
    pub fn without(self, text: &str) -> Result<String, String> {
        let Some((start, end)) = self.find(text) else {
            return if text.contains(self.begin) {
                Err(format!("it has the marker {} without {}", self.begin, self.end))
            } else {
                Ok(text.to_owned())
            };
        };
        let (before, after) = (&text[..start], &text[end..]);
        // Also remove the blank line that was added before the section.
        let before = if after.is_empty() {
            before.strip_suffix("\n\n").map_or(before.to_owned(), |left| format!("{left}\n"))
        } else {
            before.to_owned()
        };
        Ok(format!("{before}{after}"))
    }

    /// Returns the remark after the first marker, if the text has our section.
    pub fn remark(self, text: &str) -> Option<&str> {
        let (start, end) = self.find(text)?;
        let line = text[start + self.begin.len()..end].lines().next()?;
        Some(line.strip_suffix(self.close).unwrap_or(line).trim())
    }

    /// Returns the range from the start of the first marker to the end of the second marker's line.
    fn find(self, text: &str) -> Option<(usize, usize)> {
        let start = text.find(self.begin)?;
        let end = start + text[start..].find(self.end)? + self.end.len();
        Some((start, end + usize::from(text[end..].starts_with('\n'))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks { begin: "<", close: "|", end: ">" };

    #[test]
    fn adding_twice_and_removing_restores_the_text() {
        for text in ["", "# Rules\n", "# Rules\n\nMore\n"] {
            let once = MARKS.with(text, "", "ours\n");
            assert_eq!(MARKS.with(&once, "", "ours\n"), once);
            assert_eq!(MARKS.with(&MARKS.with(text, " a b", "older\n"), "", "ours\n"), once);
            assert_eq!(MARKS.without(&once).unwrap(), text);
        }
        assert_eq!(MARKS.without("a <\nours\n>\nb\n").unwrap(), "a b\n");
        assert!(MARKS.without("a <\nhalf").is_err());
    }

    #[test]
    fn the_remark_is_read_back() {
        let text = MARKS.with("x\n", " claude codex ", "ours\n");
        assert_eq!(MARKS.remark(&text), Some("claude codex"));
        assert_eq!(MARKS.remark("<\nolder\n>\n"), Some(""));
        assert_eq!(MARKS.remark("nothing"), None);
    }
}
