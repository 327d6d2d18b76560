//! Memories: what agents wrote down for later sessions.

use std::fmt::Write;

use beads_core::{Actor, BeadId};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::Style;
use crate::escape::escape;

/// The beginning of a memory has at most so many characters.
const BRIEF_CHARS: usize = 72;

/// What is remembered under a key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryAnswer {
    pub key: String,
    pub id: BeadId,
    /// The whole text, or its beginning in a list of everything.
    pub text: String,
    /// Who wrote the text last.
    pub author: Actor,
    /// When it was written last.
    pub at: String,
    pub age_ms: u64,
    /// Earlier memories with the same key. They are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<BeadId>,
    /// Only the beginning is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_brief: bool,
}

/// Returns the first line of a text, cut where it is long.
pub fn beginning(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(BRIEF_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Writes one line for each memory, or whole texts under their keys.
pub fn render(out: &mut String, memories: &[MemoryAnswer], style: Style) {
    let width = memories.iter().map(|memory| memory.key.chars().count()).max().unwrap_or(0).min(40);
    for (index, memory) in memories.iter().enumerate() {
        let (key, author) = (escape(&memory.key), escape(memory.author.as_str()));
        let whence = format!("({author}, {} ago)", age(memory.age_ms));
        if memory.is_brief {
            let used = width + 4 + whence.chars().count();
            let text = style.fit(&escape(&memory.text), used);
            let _ =
                writeln!(out, "{}  {text}  {}", style.id(&format!("{key:<width$}")), style.faint(&whence));
            continue;
        }
        if index > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "{}  {}", style.id(&key), style.faint(&whence));
        for line in memory.text.lines() {
            let _ = writeln!(out, "  {}", escape(line));
        }
    }
}

/// How long ago something was, in its largest whole unit.
fn age(ms: u64) -> String {
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
    fn ages_have_one_unit_and_beginnings_one_line() {
        let of = |seconds: u64| age(seconds * 1_000);
        assert_eq!([of(59), of(60), of(7_300), of(86_400 * 3)], ["59 s", "1 min", "2 h", "3 d"]);
        assert_eq!(beginning("\n  first \nsecond"), "first");
        assert_eq!(beginning(&"é".repeat(100)), format!("{}…", "é".repeat(72)));
    }
}
