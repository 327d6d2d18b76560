//! Foreign files become a state that is joined like any other, so importing twice, or on two replicas, changes nothing:
//! every stamp comes from the file and carries replica tag 0 (docs/IMPORT.md).
//!
//! [`Import`] collects lines; [`Import::plan`] compares them with a catalog and says what they add.

mod comment;
mod compare;
mod deletion;
mod dependency;
mod draft;
mod earlier;
mod exact;
mod fields;
mod kind;
mod ledger;
mod legacy;
mod marks;
mod object;
mod plan;
mod summary;
mod time;
mod values;

pub use compare::{Compare, Comparison, Difference};
pub(crate) use dependency::Dependency;
pub(crate) use draft::Draft;
pub(crate) use earlier::Earlier;
pub(crate) use exact::Exact;
pub(crate) use exact::{NAME as EXACT, sum};
pub(crate) use fields::Fields;
pub(crate) use kind::mapped_status;
pub use ledger::{Decision, Verdict};
pub use legacy::{LEGACY_FILES, LEGACY_NAMESPACES, LegacyFile};
pub use plan::Plan;
pub use summary::{Notice, Summary};
pub(crate) use time::for_ever;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::limits::COUNTER_STEP;
use crate::parts::in_parts;
use crate::{Actor, BeadId, Stamp};
use deletion::Deletions;
use ledger::{Ledger, Place};
use object::Object;

/// A line longer than this is not read into memory. Go's `bd` has lines of tens of megabytes when logs were pasted.
pub const MAX_FOREIGN_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The key of `metadata` under which everything is kept that has no place of its own.
pub(crate) const KEPT: &str = "_import";

/// The title of a bead of which only the deletion is known.
const ONLY_DELETED: &str = "(deleted)";

/// Whom a write is attributed to when the file does not say. Never the caller: two replicas that import the same file
/// would disagree.
pub(crate) fn unknown_actor() -> Actor {
    "import".parse().expect("a valid name")
}

/// Whether a stamp comes from a file: no replica mints stamps with tag 0.
pub(crate) fn is_imported(stamp: Stamp) -> bool {
    stamp.counter().is_multiple_of(COUNTER_STEP)
}

/// The lines of a foreign store, understood one by one. A bad line is reported and skipped.
#[derive(Debug, Default)]
pub struct Import {
    drafts: Vec<(Place, Draft)>,
    deletions: Deletions,
    /// Edges and notes that stand in files of their own.
    edges: Vec<(Place, BeadId, Dependency)>,
    notes: Vec<(Place, legacy::NoteOf)>,
    ledger: Ledger,
}

impl Import {
    /// Takes a line of `issues.jsonl`. Lines are counted from 1.
    pub fn line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        if let Some(understood) = understand(number, bytes) {
            self.take(Place { file: file.into(), line: number }, understood);
        }
    }

    /// Takes many of them, understood on several processors, with the same result.
    pub fn lines<B: AsRef<[u8]> + Sync>(&mut self, file: &str, lines: &[(usize, B)]) {
        let parts = in_parts(lines, |lines| {
            let understood =
                lines.iter().map(|(number, bytes)| (*number, understand(*number, bytes.as_ref())));
            understood.collect::<Vec<_>>()
        });
        let file: Arc<str> = file.into();
        for (line, understood) in parts.into_iter().flatten() {
            if let Some(understood) = understood {
                self.take(Place { file: file.clone(), line }, understood);
            }
        }
    }

    fn take(&mut self, place: Place, understood: Result<Understood, Refusal>) {
        self.ledger.summary.lines += 1;
        match understood {
            Ok(Understood::Bead(draft)) => {
                for notice in draft.notices() {
                    self.ledger.explain(&place, Some(draft.id()), Verdict::Adapted, notice);
                }
                for _ in draft.words() {
                    self.ledger.decide(&place, Some(draft.id()), Verdict::WordKept);
                }
                if draft.omits_zero() {
                    self.ledger.decide(&place, Some(draft.id()), Verdict::ZeroPriority);
                }
                self.drafts.push((place, *draft));
            }
            Ok(Understood::Deletion(map)) => {
                let id = id_in(&map);
                if let Err(reason) = self.deletions.read(place.clone(), Fields::new(map)) {
                    self.ledger.explain(&place, id.as_ref(), Verdict::Refused, &reason);
                }
            }
            Ok(Understood::Header) => self.ledger.decide(&place, None, Verdict::Header),
            Err((id, reason)) => self.ledger.explain(&place, id.as_ref(), Verdict::Refused, &reason),
        }
    }

    /// Takes a line of `deletions.jsonl`.
    pub fn deletion_line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        self.each(file, number, bytes, |import, place, map| import.deletions.read(place, Fields::new(map)));
    }

    /// Reports a line that could not even be read.
    pub fn refuse(&mut self, file: &str, number: usize, reason: &str) {
        self.ledger.summary.lines += 1;
        let place = Place { file: file.into(), line: number };
        self.ledger.explain(&place, None, Verdict::Refused, reason);
    }

    fn each(
        &mut self,
        file: &str,
        number: usize,
        bytes: &[u8],
        take: impl FnOnce(&mut Self, Place, Map<String, Value>) -> Result<(), String>,
    ) {
        let Some(bytes) = content(number, bytes) else { return };
        self.ledger.summary.lines += 1;
        let place = Place { file: file.into(), line: number };
        let taken = object::read(bytes).map_err(|reason| (None, reason)).and_then(|map| {
            let id = id_in(&map);
            take(self, place.clone(), map).map_err(|reason| (id, reason))
        });
        if let Err((id, reason)) = taken {
            self.ledger.explain(&place, id.as_ref(), Verdict::Refused, &reason);
        }
    }
}

type Refusal = (Option<BeadId>, String);

/// What a line of `issues.jsonl` is.
enum Understood {
    Bead(Box<Draft>),
    /// A line of `deletions.jsonl`, which was imported by itself or appended to this file.
    Deletion(Map<String, Value>),
    /// It tells where an export comes from: `{"_schema": …}`.
    Header,
}

/// Returns whether a line says that a bead was deleted, and when, and nothing else of the bead.
fn is_deletion(map: &Map<String, Value>) -> bool {
    map.contains_key("ts") && !["title", "status", "created_at"].iter().any(|name| map.contains_key(*name))
}

/// What a line of `issues.jsonl` says by itself; `None` for a blank one.
fn understand(number: usize, bytes: &[u8]) -> Option<Result<Understood, Refusal>> {
    let object = object::read::<Object>(content(number, bytes)?).map_err(|reason| (None, reason));
    Some(object.and_then(|object| {
        let id = id_in(&object.others);
        if id.is_none() && object.others.contains_key("_schema") {
            return Ok(Understood::Header);
        }
        let kind = object.others.get("_type").and_then(Value::as_str);
        match (kind, &id) {
            (Some("memory"), None) => {
                let draft = Draft::memory(&object.others).map_err(|reason| (None, reason))?;
                Ok(Understood::Bead(Box::new(draft)))
            }
            (Some(kind), _) if !["issue", "memory"].contains(&kind) => {
                Err((id, format!("it is a {kind}, not a bead")))
            }
            (None, Some(_)) if is_deletion(&object.others) => Ok(Understood::Deletion(object.others)),
            _ => {
                let exact = object.exact();
                let draft = Draft::read(Fields::new(object.others), exact).map_err(|reason| (id, reason))?;
                Ok(Understood::Bead(Box::new(draft)))
            }
        }
    }))
}

/// A line without the mark that some editors put before the first; `None` for a blank one.
fn content(number: usize, bytes: &[u8]) -> Option<&[u8]> {
    let bytes = if number == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
    (!bytes.trim_ascii().is_empty()).then_some(bytes)
}

fn id_in(map: &Map<String, Value>) -> Option<BeadId> {
    map.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok())
}

/// Something kept under [`KEPT`], by the name of its field.
pub(crate) type Kept = BTreeMap<String, Value>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    #[test]
    fn many_lines_are_understood_as_one_after_the_other() {
        let line = |number: usize| match number {
            1 => "\u{feff}{\"id\":\"a-1\",\"title\":\"behind a mark\"}".to_owned(),
            number if number % 97 == 0 => String::new(),
            number if number % 101 == 0 => "{broken".to_owned(),
            number if number % 103 == 0 => format!(r#"{{"id":"a-{number}","_type":"comment"}}"#),
            number => format!(r#"{{"id":"a-{number}","title":"Line {number}","priority":{}}}"#, number % 7),
        };
        let lines: Vec<_> = (1..=3_000).map(|number| (number, line(number))).collect();
        let (mut together, mut apart) = (Import::default(), Import::default());
        together.lines("f", &lines);
        lines.iter().for_each(|(number, line)| apart.line("f", *number, line.as_bytes()));
        let [together, apart] = [together, apart].map(|import| import.plan(&Catalog::default()));
        assert_eq!(together.summary, apart.summary);
        assert!(together.summary.skipped.len() > 50 && together.summary.notices.len() > 50);
        assert_eq!(serde_json::to_vec(&together.delta).unwrap(), serde_json::to_vec(&apart.delta).unwrap());
    }
}
