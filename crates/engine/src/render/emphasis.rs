//! Renders Markdown emphasis inside one paragraph: `code`, *italic*, **bold** and their `_` forms.
//!
//! Follows the delimiter rules of CommonMark, with one exception: `*` works like `_`, so that it never marks a
//! part of a word. A product (`2*3*4`) or a path (`src/*.rs`) is more common in a bead than such a word.

use super::style::Style;

/// A piece of a text: literal characters, code, or a run of `*` or `_` that may mark emphasis.
#[derive(Debug)]
struct Piece {
    text: String,
    kind: Kind,
    bold: bool,
    italic: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Code,
    Run { opens: bool, closes: bool },
}

impl Piece {
    fn new(text: &str, kind: Kind) -> Self {
        Self { text: text.to_owned(), kind, bold: false, italic: false }
    }

    /// Returns whether this run can end what `opener` began.
    fn closes(&self, opener: &Self) -> bool {
        let (Kind::Run { opens, closes: true }, Kind::Run { opens: true, closes }) =
            (&self.kind, &opener.kind)
        else {
            return false;
        };
        let (ours, theirs) = (self.text.len(), opener.text.len());
        // CommonMark's rule of three, which keeps `**a*b**` from ending at the single `*`.
        let is_mixed = (*opens || *closes) && (ours + theirs) % 3 == 0 && (ours % 3 != 0 || theirs % 3 != 0);
        ours > 0 && theirs > 0 && self.text.starts_with(&opener.text[..1]) && !is_mixed
    }
}

/// Renders the emphasis of a text, word by word, so that the result can be wrapped. Without colors, the text
/// is returned as it is.
pub fn emphasis(text: &str, style: Style) -> String {
    if !style.has_color() {
        return text.to_owned();
    }
    let mut pieces = split(text);
    resolve(&mut pieces);
    let paint = |piece: &Piece| {
        let words = piece.text.split(' ').map(|word| paint(word, piece, style));
        words.collect::<Vec<_>>().join(" ")
    };
    pieces.iter().map(paint).collect()
}

fn paint(word: &str, piece: &Piece, style: Style) -> String {
    if word.is_empty() {
        return String::new();
    }
    let mut shown = if piece.kind == Kind::Code { style.code(word) } else { word.to_owned() };
    if piece.italic {
        shown = style.italic(&shown);
    }
    if piece.bold { style.bold(&shown) } else { shown }
}

/// Splits a text into pieces.
fn split(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut rest, mut plain, mut before) = (text, String::new(), ' ');
    while let Some(c) = rest.chars().next() {
        let taken = if let Some((code, length)) = code_span(rest) {
            pieces.push(Piece::new(&std::mem::take(&mut plain), Kind::Text));
            pieces.push(Piece::new(code, Kind::Code));
            length
        } else if matches!(c, '*' | '_') {
            let run = &rest[..rest.len() - rest.trim_start_matches(c).len()];
            let after = char_after(&rest[run.len()..]);
            pieces.push(Piece::new(&std::mem::take(&mut plain), Kind::Text));
            pieces.push(Piece::new(run, run_between(before, after)));
            run.len()
        } else if let Some(escaped) = escaped(rest) {
            plain.push(escaped);
            1 + escaped.len_utf8()
        } else {
            let run = if c == '`' { rest.len() - rest.trim_start_matches('`').len() } else { c.len_utf8() };
            plain.push_str(&rest[..run]);
            run
        };
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    pieces.push(Piece::new(&plain, Kind::Text));
    pieces
}

/// Returns the character after a run. A dot inside a name, as in `__init__.py`, counts as a letter.
fn char_after(rest: &str) -> char {
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some('.'), Some(next)) if next.is_alphanumeric() => next,
        (first, _) => first.unwrap_or(' '),
    }
}

/// Returns the content of the code span that a text begins with, and the length of the span.
fn code_span(text: &str) -> Option<(&str, usize)> {
    let inner = text.trim_start_matches('`');
    let ticks = text.len() - inner.len();
    if ticks == 0 {
        return None;
    }
    let mut at = 0;
    loop {
        let start = at + inner[at..].find('`')?;
        let run = inner[start..].len() - inner[start..].trim_start_matches('`').len();
        if run == ticks {
            return Some((&inner[..start], ticks + start + run));
        }
        at = start + run;
    }
}

/// Returns the markup character that a backslash at the beginning of a text makes literal.
fn escaped(text: &str) -> Option<char> {
    text.strip_prefix('\\')?.chars().next().filter(|c| matches!(c, '*' | '_' | '`' | '\\'))
}

/// Returns what a run between two characters can do.
fn run_between(before: char, after: char) -> Kind {
    // A slash is part of a path, not punctuation around a word.
    let is_mark = |c: char| c.is_ascii_punctuation() && c != '/' && c != '\\';
    let left = !after.is_whitespace() && (!is_mark(after) || before.is_whitespace() || is_mark(before));
    let right = !before.is_whitespace() && (!is_mark(before) || after.is_whitespace() || is_mark(after));
    Kind::Run { opens: left && (!right || is_mark(before)), closes: right && (!left || is_mark(after)) }
}

/// Finds the runs that belong together, and marks the pieces between them.
fn resolve(pieces: &mut [Piece]) {
    for closer in 0..pieces.len() {
        while let Some(opener) = (0..closer).rev().find(|at| pieces[closer].closes(&pieces[*at])) {
            let width = if pieces[opener].text.len() > 1 && pieces[closer].text.len() > 1 { 2 } else { 1 };
            for piece in &mut pieces[opener + 1..closer] {
                piece.bold |= width == 2;
                piece.italic |= width == 1;
                // A run between the two has no partner, or its partner is between them, too.
                if matches!(piece.kind, Kind::Run { .. }) {
                    piece.kind = Kind::Text;
                }
            }
            pieces[opener].text.truncate(pieces[opener].text.len() - width);
            pieces[closer].text.drain(..width);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Output;

    /// Returns the rendered text with `<b>`, `<i>` and `<c>` instead of colors.
    fn shown(text: &str) -> String {
        let output = Output { color: true, width: Some(80), ..Output::default() };
        let mut shown = emphasis(text, Style::new(&output));
        for (code, tag) in [("1", "<b>"), ("3", "<i>"), ("36", "<c>"), ("0", "</>"), ("39", "</>")] {
            shown = shown.replace(&format!("\u{1b}[{code}m"), tag);
        }
        shown
    }

    #[test]
    fn emphasis_is_rendered() {
        assert_eq!(shown("a *b* c"), "a <i>b</> c");
        assert_eq!(shown("a _b_, c"), "a <i>b</>, c");
        assert_eq!(shown("**Why:** so"), "<b>Why:</> so");
        assert_eq!(shown("__b__."), "<b>b</>.");
        assert_eq!(shown("*two words*"), "<i>two</> <i>words</>", "each word, so that lines can break");
        assert_eq!(shown("**a *b* c**"), "<b>a</> <b><i>b</></> <b>c</>");
        assert_eq!(shown("***a***"), "<b><i>a</></>");
        assert_eq!(shown("(*a*) \"_b_\""), "(<i>a</>) \"<i>b</>\"");
        assert_eq!(shown("`a *b*` ``c`d``"), "<c>a</> <c>*b*</> <c>c`d</>");
        assert_eq!(shown("日本 *語* 日"), "日本 <i>語</> 日");
    }

    #[test]
    fn other_stars_and_underscores_stay() {
        for text in [
            "snake_case_name and other_name",
            "2 * 3 * 4",
            "2*3*4",
            "src/*.rs and tests/*.rs",
            "* a * b",
            "_private and other",
            "a ** b ** c",
            "`unclosed *a",
            "**",
            "__init__.py and *.rs, or src/*.rs",
            "*a **",
        ] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("\\*a\\* \\_b\\_ C:\\dir"), "*a* _b_ C:\\dir");
        assert_eq!(shown("**a*"), "*<i>a</>");
    }

    #[test]
    fn without_colors_the_markers_stay() {
        let output = Output { width: Some(80), ..Output::default() };
        assert_eq!(emphasis("*a* **b** `c` \\*", Style::new(&output)), "*a* **b** `c` \\*");
    }
}
