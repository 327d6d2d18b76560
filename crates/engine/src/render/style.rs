//! Colour and width of text on a terminal.

use beads_core::{Priority, Status, Timestamp, Word};
use owo_colors::{AnsiColors, OwoColorize};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::wrap::wrap_after;
use crate::request::{LocalClock, Output};

/// How text is formatted for one reader.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    color: bool,
    width: Option<usize>,
    clock: Option<&'a LocalClock>,
}

impl<'a> Style<'a> {
    /// Returns the style that a caller asked for.
    pub fn new(output: &'a Output) -> Self {
        Self { color: output.color, width: output.width, clock: output.clock.as_ref() }
    }

    /// Returns the columns of the terminal, or `None` if the output is not a terminal.
    pub fn width(self) -> Option<usize> {
        self.width
    }

    /// Formats a time in the past, such as `3 min ago`.
    pub fn ago(self, time: Timestamp) -> String {
        self.clock.map_or_else(|| time.to_string(), |clock| clock.ago(time))
    }

    /// Formats a time after "since" or "until", such as `14:20`.
    pub fn at(self, time: Timestamp) -> String {
        self.clock.map_or_else(|| time.to_string(), |clock| clock.at(time))
    }

    /// Formats a time with its date.
    pub fn moment(self, time: Timestamp) -> String {
        self.clock.map_or_else(|| time.to_string(), |clock| clock.moment(time))
    }

    /// Formats a time that an answer holds as RFC 3339 with one of the functions above.
    pub fn time(self, text: &str, format: impl Fn(Self, Timestamp) -> String) -> String {
        text.parse().map_or_else(|_| text.to_owned(), |time| format(self, time))
    }

    /// Wraps a line at spaces, so that it fits on a terminal; continued lines begin with `indent`. Piped text is
    /// never wrapped.
    pub fn wrapped(self, line: &str, indent: &str) -> String {
        self.width.map_or_else(|| line.to_owned(), |width| wrap_after(line, "", indent, width))
    }

    /// Returns whether the output is not a terminal.
    pub fn is_piped(self) -> bool {
        self.width.is_none()
    }

    /// Formats a status, or the custom word shown instead of it, as a column.
    pub fn status(self, status: Status, word: Option<&Word>) -> String {
        let shown = word.map_or(status.as_str(), Word::as_str);
        self.paint_status(status, &format!("{shown:<11}"))
    }

    /// Formats a status, or the custom word shown instead of it, within a line.
    pub fn status_word(self, status: Status, word: Option<&Word>) -> String {
        self.paint_status(status, word.map_or(status.as_str(), Word::as_str))
    }

    fn paint_status(self, status: Status, text: &str) -> String {
        let color = match status {
            Status::Open => AnsiColors::Green,
            Status::InProgress => AnsiColors::Yellow,
            Status::Closed => AnsiColors::BrightBlack,
        };
        self.paint(text, color)
    }

    /// Formats a priority.
    pub fn priority(self, priority: Priority) -> String {
        let color = match priority.get() {
            0 => AnsiColors::Red,
            1 => AnsiColors::Yellow,
            _ => AnsiColors::Default,
        };
        self.paint(&priority.to_string(), color)
    }

    /// Formats an id.
    pub fn id(self, id: &str) -> String {
        self.paint(id, AnsiColors::Cyan)
    }

    /// Formats secondary text.
    pub fn faint(self, text: &str) -> String {
        self.paint(text, AnsiColors::BrightBlack)
    }

    /// Formats code.
    pub fn code(self, text: &str) -> String {
        self.paint(text, AnsiColors::Cyan)
    }

    /// Returns whether text may be colored.
    pub fn has_color(self) -> bool {
        self.color
    }

    /// Formats important text.
    pub fn bold(self, text: &str) -> String {
        if self.color { text.bold().to_string() } else { text.to_owned() }
    }

    /// Formats emphasised text.
    pub fn italic(self, text: &str) -> String {
        if self.color { text.italic().to_string() } else { text.to_owned() }
    }

    fn paint(self, text: &str, color: AnsiColors) -> String {
        if self.color && color != AnsiColors::Default {
            text.color(color).to_string()
        } else {
            text.to_owned()
        }
    }

    /// Truncates text so that it fits on a terminal line after `used` columns. Piped text is never truncated.
    pub fn fit(self, text: &str, used: usize) -> String {
        match self.width {
            Some(width) => cut(text, width.saturating_sub(used).max(MIN_COLUMNS)),
            None => text.to_owned(),
        }
    }

    /// Truncates a title and the remarks after it so that both fit on a terminal line after `used` columns.
    /// The title has precedence, but leaves a third of the space to the remarks. Piped text is never
    /// truncated.
    pub fn fit_both(self, title: &str, remarks: &str, used: usize) -> (String, String) {
        let Some(width) = self.width else { return (title.to_owned(), remarks.to_owned()) };
        let available = width.saturating_sub(used).max(MIN_COLUMNS);
        let left_by_title = available.saturating_sub(title.width() + SEPARATOR);
        let remarks = match left_by_title.max((available / 3).saturating_sub(SEPARATOR)) {
            columns if columns >= MIN_COLUMNS => cut(remarks, columns),
            _ => String::new(),
        };
        let taken = if remarks.is_empty() { 0 } else { remarks.width() + SEPARATOR };
        (cut(title, available - taken), remarks)
    }
}

/// The fewest columns to which a text is truncated.
const MIN_COLUMNS: usize = 8;

/// The columns between a title and its remarks.
const SEPARATOR: usize = 2;

/// Truncates text to a number of columns.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let mut cut = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= columns {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

/// Returns an age in its largest whole unit.
pub(super) fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (count, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_are_truncated_on_terminals_only() {
        let narrow = Style { color: false, width: Some(20), clock: None };
        assert_eq!(narrow.fit("a title that is too long", 4), "a title that is…");
        let piped = Style { color: false, width: None, clock: None };
        assert_eq!(piped.fit("a title that is too long", 4), "a title that is too long");
    }
    #[test]
    fn a_title_leaves_space_to_its_remarks() {
        let style = Style { color: false, width: Some(50), clock: None };
        let both = |title: &str, remarks: &str| {
            let (title, remarks) = style.fit_both(title, remarks, 10);
            assert!(title.width() + remarks.width() + 2 <= 40, "{title:?} {remarks:?}");
            (title, remarks)
        };
        assert_eq!(both("short", "@ann #x"), ("short".to_owned(), "@ann #x".to_owned()));
        assert_eq!(both(&"t".repeat(60), "@ann"), (format!("{}…", "t".repeat(33)), "@ann".to_owned()));
        both(&"t".repeat(60), &"r".repeat(60));
        both("short", &"r".repeat(60));
    }

    #[test]
    fn an_age_has_one_unit() {
        let of = |seconds: u64| age(seconds * 1_000);
        assert_eq!([of(59), of(60), of(7_300), of(86_400 * 3)], ["59 s", "1 min", "2 h", "3 d"]);
    }
}
