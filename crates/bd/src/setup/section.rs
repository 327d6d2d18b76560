//! A part of a text between two marks.

pub type Marks = (&'static str, &'static str);

/// The text with our part in the place where it was, or at the end.
pub fn with(text: &str, marks: Marks, ours: &str) -> String {
    let part = format!("{}\n{ours}{}\n", marks.0, marks.1);
    match find(text, marks) {
        Some((start, end)) => format!("{}{part}{}", &text[..start], &text[end..]),
        None if text.is_empty() => part,
        None => format!("{}\n\n{part}", text.trim_end_matches('\n')),
    }
}

/// The text without our part.
pub fn without(text: &str, marks: Marks) -> Result<String, String> {
    let Some((start, end)) = find(text, marks) else {
        return if text.contains(marks.0) {
            Err(format!("it has {} without {}", marks.0, marks.1))
        } else {
            Ok(text.to_owned())
        };
    };
    let (before, after) = (&text[..start], &text[end..]);
    // The blank line that was put in front of it goes too.
    let before = if after.is_empty() {
        before.strip_suffix("\n\n").map_or(before.to_owned(), |left| format!("{left}\n"))
    } else {
        before.to_owned()
    };
    Ok(format!("{before}{after}"))
}

/// From the first byte of the first mark to the end of the line of the second.
fn find(text: &str, marks: Marks) -> Option<(usize, usize)> {
    let start = text.find(marks.0)?;
    let end = start + text[start..].find(marks.1)? + marks.1.len();
    Some((start, end + usize::from(text[end..].starts_with('\n'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = ("<", ">");

    #[test]
    fn put_in_twice_and_taken_out_leaves_what_was_there() {
        for text in ["", "# Rules\n", "# Rules\n\nMore\n"] {
            let once = with(text, MARKS, "ours\n");
            assert_eq!(with(&once, MARKS, "ours\n"), once);
            assert_eq!(with(&with(text, MARKS, "older\n"), MARKS, "ours\n"), once);
            assert_eq!(without(&once, MARKS).unwrap(), text);
        }
        assert_eq!(without("a <\nours\n>\nb\n", MARKS).unwrap(), "a b\n");
        assert!(without("a <\nhalf", MARKS).is_err());
    }
}
