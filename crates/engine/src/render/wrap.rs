//! Wraps text at spaces.

use unicode_width::UnicodeWidthStr;

/// Wraps every line of a text at spaces, so that it fits into `width` columns. A longer word stays whole.
/// Continued lines are indented like the line itself.
pub fn wrap(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        wrap_after(line, "", indent, width)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the columns that a text takes on a terminal. Colors take none.
fn columns(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let plain = parts.next().map_or(0, UnicodeWidthStr::width);
    // A color is `[`, numbers and `m`.
    plain + parts.map(|part| part.split_once('m').map_or(0, |(_, shown)| shown.width())).sum::<usize>()
}

/// Wraps one line that begins with `first`, and continues on lines that begin with `next`.
pub fn wrap_after(line: &str, first: &str, next: &str, width: usize) -> String {
    let mut out = first.to_owned();
    let mut used = columns(first);
    if used + columns(line) <= width {
        return out + line;
    }
    let mut is_start = true;
    for word in line.split(' ') {
        let word_columns = columns(word);
        if !is_start && used + 1 + word_columns > width && used > columns(next) {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(next);
            used = columns(next);
        } else if !is_start {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += word_columns;
        is_start = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_keep_their_indentation() {
        assert_eq!(wrap("one two three\n  four five", 8), "one two\nthree\n  four\n  five");
        assert_eq!(wrap("averylongword and more", 8), "averylongword\nand more");
        assert_eq!(wrap("short", 80), "short");
        assert_eq!(wrap_after("one two three", "• ", "  ", 9), "• one two\n  three");
        assert_eq!(wrap("日本 日本 日本", 9), "日本 日本\n日本");
        assert_eq!(wrap("\u{1b}[36mone\u{1b}[39m two three", 8), "\u{1b}[36mone\u{1b}[39m two\nthree");
    }
}
