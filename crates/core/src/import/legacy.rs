//! The store of the earlier Rust implementation: `state.jsonl`, `tombstones.jsonl`, `deps.jsonl` and, in later versions,
//! `notes.jsonl`. Its beads are lines that [`Import::line`] understands: labels may be lists or observed-remove sets, notes
//! may stand inside, stamps are `[ms, counter]`.

use serde_json::{Map, Value};

use super::comment::Comment;
use super::dependency::Dependency;
use super::{Import, Place};
use crate::{BeadId, Mark, Stamp};

/// The files of such a store, in the order in which they should be read.
pub const LEGACY_FILES: [&str; 4] = ["state.jsonl", "tombstones.jsonl", "deps.jsonl", "notes.jsonl"];

impl Import {
    /// Takes a line of one of [`LEGACY_FILES`].
    pub fn legacy_line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        match file {
            "tombstones.jsonl" => self.deletion_line(file, number, bytes),
            "deps.jsonl" => {
                self.each(file, number, bytes, |import, place, map| import.legacy_edges(place, &map));
            }
            "notes.jsonl" => {
                self.each(file, number, bytes, |import, place, map| import.legacy_note(place, &map));
            }
            _ => self.line(file, number, bytes),
        }
    }

    /// One edge, or an object with all of them: `{"entries": [{"key": {from, to, kind}, "dots": […]}], "stamp": …}`.
    fn legacy_edges(&mut self, place: Place, map: &Map<String, Value>) -> Result<(), String> {
        let Some(Value::Array(entries)) = map.get("entries") else { return self.legacy_edge(place, map) };
        let stamp = map.get("stamp").and_then(super::time::read_mark);
        for entry in entries {
            let key = entry.get("key").and_then(Value::as_object).or_else(|| entry.as_object());
            let Some(key) = key else { return Err("an entry is not an edge".to_owned()) };
            let no_dots = entry.get("dots").and_then(Value::as_array).is_some_and(Vec::is_empty);
            if no_dots {
                continue; // observed and removed
            }
            let mut key = key.clone();
            if let Some(mark) = &stamp {
                stamped(&mut key, mark);
            }
            self.legacy_edge(place.clone(), &key)?;
        }
        Ok(())
    }

    fn legacy_edge(&mut self, place: Place, map: &Map<String, Value>) -> Result<(), String> {
        let mut map = map.clone();
        for (theirs, ours) in [("from", "issue_id"), ("to", "depends_on_id")] {
            if let Some(end) = map.remove(theirs) {
                // Later versions name a bead by namespace and id.
                let id = end.get("id").cloned().unwrap_or(end);
                map.insert(ours.into(), id);
            }
        }
        let from = map.get("issue_id").and_then(Value::as_str).and_then(|id| id.parse::<BeadId>().ok());
        let removed = |name: &str| map.get(name).is_some_and(|value| *value == Value::Bool(true));
        let deleted = removed("deleted") || removed("is_deleted");
        match (from, Dependency::read(&map, Stamp::ZERO)) {
            (Some(from), Some(mut edge)) => {
                edge.edge.deleted |= deleted;
                self.edges.push((place, from, edge));
                Ok(())
            }
            _ => Err("it does not name two beads".to_owned()),
        }
    }

    fn legacy_note(&mut self, place: Place, map: &Map<String, Value>) -> Result<(), String> {
        let bead = map.get("bead_id").or_else(|| map.get("bead")).or_else(|| map.get("issue_id"));
        let id = bead.and_then(Value::as_str).and_then(|id| id.parse::<BeadId>().ok());
        let note = map.get("note").and_then(Value::as_object).unwrap_or(map);
        match (id, Comment::read(note, Stamp::ZERO)) {
            (Some(id), Some(comment)) => {
                self.notes.push((place, id, comment));
                Ok(())
            }
            _ => Err("it has no bead or no text".to_owned()),
        }
    }
}

/// All edges of one object share its stamp, unless they have their own.
fn stamped(key: &mut Map<String, Value>, mark: &Mark) {
    if !key.contains_key("created_at") {
        key.insert("created_at".into(), Value::from(mark.at().ms()));
        key.insert("created_by".into(), Value::from(mark.by().as_str()));
    }
}
