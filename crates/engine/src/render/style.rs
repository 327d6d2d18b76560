//! Colour and width of text on a terminal.

use beads_core::{Priority, Status, Word};
use owo_colors::{AnsiColors, OwoColorize};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::request::Output;

/// How text is dressed for one reader.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    color: bool,
    width: Option<usize>,
}

impl Style {
    pub fn new(output: &Output) -> Self {
        Self { color: output.color, width: output.width }
    }

    pub fn is_piped(self) -> bool {
        self.width.is_none()
    }

    /// The status, or the word that stands for it.
    pub fn status(self, status: Status, word: Option<&Word>) -> String {
        let color = match status {
            Status::Open => AnsiColors::Green,
            Status::InProgress => AnsiColors::Yellow,
            Status::Closed => AnsiColors::BrightBlack,
        };
        let shown = word.map_or(status.as_str(), Word::as_str);
        self.paint(&format!("{shown:<11}"), color)
    }

    pub fn priority(self, priority: Priority) -> String {
        let color = match priority.get() {
            0 => AnsiColors::Red,
            1 => AnsiColors::Yellow,
            _ => AnsiColors::Default,
        };
        self.paint(&priority.to_string(), color)
    }

    pub fn id(self, id: &str) -> String {
        self.paint(id, AnsiColors::Cyan)
    }

    pub fn faint(self, text: &str) -> String {
        self.paint(text, AnsiColors::BrightBlack)
    }

    pub fn bold(self, text: &str) -> String {
        if self.color { text.bold().to_string() } else { text.to_owned() }
    }

    fn paint(self, text: &str, color: AnsiColors) -> String {
        if self.color && color != AnsiColors::Default {
            text.color(color).to_string()
        } else {
            text.to_owned()
        }
    }

    /// Cuts a text so that `used` columns and it fit on one line of a terminal. Piped text is never cut.
    pub fn fit(self, text: &str, used: usize) -> String {
        let Some(room) = self.width.map(|width| width.saturating_sub(used).max(8)) else {
            return text.to_owned();
        };
        if text.width() <= room {
            return text.to_owned();
        }
        let mut columns = 0;
        let mut cut = String::new();
        for c in text.chars() {
            columns += c.width().unwrap_or(0);
            if columns >= room {
                break;
            }
            cut.push(c);
        }
        cut + "…"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_are_cut_on_terminals_only() {
        let narrow = Style { color: false, width: Some(20) };
        assert_eq!(narrow.fit("a title that is too long", 4), "a title that is…");
        let piped = Style { color: false, width: None };
        assert_eq!(piped.fit("a title that is too long", 4), "a title that is too long");
    }
}
