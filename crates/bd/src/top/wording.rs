//! Durations and columns of text.

use beads_core::Timestamp;
use beads_engine::escape::escape;
use beads_engine::request::LocalClock;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Formats a duration: `24 s`, `3 min`, `1 h 11`, `3 d`.
pub fn duration(ms: u64) -> String {
    let (seconds, minutes) = (ms / 1_000, ms / 60_000);
    match (seconds, minutes) {
        (seconds, 0) => format!("{seconds} s"),
        (_, minutes @ 1..60) => format!("{minutes} min"),
        (_, minutes @ 60..2_880) => format!("{} h {:02}", minutes / 60, minutes % 60),
        (_, minutes) => format!("{} d", minutes / 1_440),
    }
}

/// Formats a time after "since" or "at".
pub fn time(clock: &LocalClock, ms: u64) -> String {
    Timestamp::from_ms(ms).map(|time| clock.at(time)).unwrap_or_default()
}

/// Formats the time of day.
pub fn time_of_day(clock: &LocalClock, ms: u64) -> String {
    Timestamp::from_ms(ms).map(|time| clock.time_of_day(time)).unwrap_or_default()
}

/// Returns text in exactly `width` columns: cut with an ellipsis, or padded on the right. Control characters
/// are escaped.
pub fn fit(text: &str, width: usize) -> String {
    let text = escape(text);
    let used = text.width();
    if used <= width {
        return format!("{text}{}", " ".repeat(width - used));
    }
    if width == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let columns = character.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        out.push(character);
        used += columns;
    }
    out.push('…');
    out.push_str(&" ".repeat(width - used - 1));
    out
}

/// Returns text at the right end of `width` columns.
pub fn right(text: &str, width: usize) -> String {
    let used = text.width();
    if used < width { format!("{}{text}", " ".repeat(width - used)) } else { fit(text, width) }
}

/// Returns a rule with a title on the left and a remark on the right: `─ stuck 3 ─────── by impact ─`.
pub fn rule(title: &str, remark: &str, width: usize) -> String {
    let left = format!("─ {title} ");
    let right = if remark.is_empty() { String::new() } else { format!(" {remark} ─") };
    let (left_width, right_width) = (left.width(), right.width());
    if left_width + right_width + 2 > width {
        let fill = width.saturating_sub(left_width);
        return fit(&format!("{left}{}", "─".repeat(fill)), width);
    }
    format!("{left}{}{right}", "─".repeat(width - left_width - right_width))
}

/// The width of the page of a bead. Narrower screens wrap it again.
pub const PAGE_WIDTH: usize = 78;
