//! Reads a legacy store: the store of the earlier Rust implementation. It consists of `state.jsonl`,
//! `tombstones.jsonl`, `deps.jsonl` and, in later versions, `notes.jsonl`. [`Import::line`] reads its beads:
//! labels are lists or observed-remove sets, notes may be part of the bead, and stamps are `[ms, counter]`.

use serde_json::{Map, Value};

use super::comment::Comment;
use super::dependency::Dependency;
use super::fields::Fields;
use super::ledger::Place;
use super::{Import, Verdict, unknown_actor};
use crate::{BeadId, Mark, Stamp};

/// The files of a legacy store, in the order in which to read them.
pub const LEGACY_FILES: [&str; 4] = ["state.jsonl", "tombstones.jsonl", "deps.jsonl", "notes.jsonl"];

/// The directory of checkpoints in later versions: `namespaces/NAME/KIND/00.jsonl` to `ff.jsonl`.
pub const LEGACY_NAMESPACES: &str = "namespaces";

/// The kind of a file in a legacy store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LegacyFile {
    /// Beads.
    State,
    /// Deletions.
    Tombstones,
    /// Dependencies.
    Deps,
    /// Notes.
    Notes,
}

impl LegacyFile {
    /// Returns the kind of a file, or `None` if it is not part of a legacy store. The path is relative to the
    /// store and uses slashes.
    pub fn of_path(path: &str) -> Option<Self> {
        let kinds = [Self::State, Self::Tombstones, Self::Deps, Self::Notes];
        if let Some(index) = LEGACY_FILES.iter().position(|name| *name == path) {
            return Some(kinds[index]);
        }
        let [LEGACY_NAMESPACES, _, kind, shard] = path.split('/').collect::<Vec<_>>()[..] else {
            return None;
        };
        shard.strip_suffix(".jsonl")?;
        let index = LEGACY_FILES.iter().position(|name| name.strip_suffix(".jsonl") == Some(kind))?;
        Some(kinds[index])
    }
}

impl Import {
    /// Adds a line of a file of a legacy store. [`LegacyFile::of_path`] determines its kind.
    pub fn legacy_line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        match LegacyFile::of_path(file) {
            Some(LegacyFile::Tombstones) => self.deletion_line(file, number, bytes),
            Some(LegacyFile::Deps) => self.attached_line(file, number, bytes, Self::legacy_edges),
            Some(LegacyFile::Notes) => self.attached_line(file, number, bytes, Self::legacy_note),
            Some(LegacyFile::State) | None => self.line(file, number, bytes),
        }
    }

    /// Adds a line that belongs to beads on other lines.
    fn attached_line(
        &mut self,
        file: &str,
        number: usize,
        bytes: &[u8],
        take: impl FnOnce(&mut Self, Place, &Map<String, Value>) -> Result<(), String>,
    ) {
        self.each(file, number, bytes, |import, place, map| {
            take(import, place.clone(), &map)?;
            import.ledger.decide(&place, None, Verdict::Attached);
            Ok(())
        });
    }

    /// Reads one edge, or an object with all edges: `{"entries": [{"key": {from, to, kind}, "dots": […]}],
    /// "stamp": …}`.
    fn legacy_edges(&mut self, place: Place, map: &Map<String, Value>) -> Result<(), String> {
        let Some(Value::Array(entries)) = map.get("entries") else { return self.legacy_edge(place, map) };
        let stamp = map.get("stamp").and_then(super::time::read_mark);
        for entry in entries {
            let no_dots = entry.get("dots").and_then(Value::as_array).is_some_and(Vec::is_empty);
            if no_dots {
                continue; // removed
            }
            let key = entry.get("key").and_then(Value::as_object).or_else(|| entry.as_object());
            let mut key = key.cloned().unwrap_or_default();
            if let Some(mark) = &stamp {
                stamped(&mut key, mark);
            }
            if let Err(reason) = self.legacy_edge(place.clone(), &key) {
                self.ledger.decide_with_reason(&place, None, Verdict::EdgeSkipped, &reason);
            }
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
        let mut fields = Fields::new(map.clone());
        let by = fields.actor("lineage_created_by").unwrap_or_else(unknown_actor);
        let created = fields.stamp("lineage_created_at").map(|at| Mark::new(at, by));
        match (id, Comment::read(note, Stamp::ZERO)) {
            (Some(id), Some(comment)) => {
                self.notes.push((place, NoteOf { id, created, comment }));
                Ok(())
            }
            _ => Err("it has no bead or no text".to_owned()),
        }
    }
}

/// A note and the bead it belongs to.
#[derive(Debug)]
pub(super) struct NoteOf {
    pub id: BeadId,
    /// When and by whom the bead was created, if several beads were created with the id.
    pub created: Option<Mark>,
    pub comment: Comment,
}

/// Gives an edge without a stamp the stamp of the object.
fn stamped(key: &mut Map<String, Value>, mark: &Mark) {
    if !key.contains_key("created_at") {
        key.insert("created_at".into(), Value::from(mark.at().ms()));
        key.insert("created_by".into(), Value::from(mark.by().as_str()));
    }
}
