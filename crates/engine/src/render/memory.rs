//! Memories: what agents recorded for later sessions.

use std::fmt::Write;

use beads_core::{Actor, BeadId};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::{Style, age};
use crate::escape::escape;

/// The maximum length of an excerpt, in characters.
const BRIEF_CHARS: usize = 72;

/// The time of a memory that was imported without one.
const NO_TIME: &str = "1970-01-01T00:00:00";

/// A memory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryAnswer {
    /// The key.
    pub key: String,
    /// The bead that holds it.
    pub id: BeadId,
    /// The whole text, or an excerpt in a list of all memories.
    pub text: String,
    /// The last author.
    pub author: Actor,
    /// When it was last written.
    pub at: String,
    /// The time since then.
    pub age_ms: u64,
    /// Earlier memories with the same key. They are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<BeadId>,
    /// Whether `text` is an excerpt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_brief: bool,
}

/// Returns the first line of a text, truncated if it is long.
pub fn excerpt(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(BRIEF_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Writes memories: one line each for excerpts, whole texts under their keys otherwise.
pub fn render(out: &mut String, memories: &[MemoryAnswer], style: Style) {
    let width = memories.iter().map(|memory| memory.key.chars().count()).max().unwrap_or(0).min(40);
    for (index, memory) in memories.iter().enumerate() {
        let (key, author) = (escape(&memory.key), escape(memory.author.as_str()));
        let origin = match memory.at.starts_with(NO_TIME) {
            true => format!("({author}, time unknown)"),
            false => format!("({author}, {} ago)", age(memory.age_ms)),
        };
        if memory.is_brief {
            let used = width + 4 + origin.chars().count();
            let text = style.fit(&escape(&memory.text), used);
            let _ =
                writeln!(out, "{}  {text}  {}", style.id(&format!("{key:<width$}")), style.faint(&origin));
            continue;
        }
        if index > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "{}  {}", style.id(&key), style.faint(&origin));
        for line in memory.text.lines() {
            let _ = writeln!(out, "  {}", escape(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line() {
        assert_eq!(excerpt("\n  first \nsecond"), "first");
        assert_eq!(excerpt(&"é".repeat(100)), format!("{}…", "é".repeat(72)));
    }
}
