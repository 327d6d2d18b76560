//! Imports files of other trackers (docs/IMPORT.md). A file becomes a state that is joined like the state of
//! another replica. All its stamps come from the file and carry replica tag 0, so importing a file twice, or
//! on two replicas, changes nothing more.
//!
//! [`Import`] collects lines. [`Import::plan`] compares them with a catalog and returns what they add.

mod comment;
mod compare;
mod deletion;
mod dependency;
mod draft;
mod exact;
mod fields;
mod kind;
mod ledger;
mod legacy;
mod legacy_extras;
mod marks;
mod object;
mod plan;
mod summary;
mod time;
mod values;

pub use compare::{Compare, Comparison, Difference};
pub(crate) use dependency::Dependency;
pub(crate) use draft::Draft;
pub(crate) use exact::Exact;
pub(crate) use exact::{NAME as EXACT, sum};
pub(crate) use fields::Fields;
pub(crate) use kind::mapped_status;
pub use ledger::{Decision, Verdict};
pub use legacy::{LEGACY_FILES, LEGACY_NAMESPACES, LegacyFile};
pub(crate) use legacy_extras::LegacyExtras;
pub use plan::Plan;
pub use summary::{Notice, Summary};
pub(crate) use time::far_future;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::limits::COUNTER_STEP;
use crate::parts::in_parts;
use crate::{Actor, BeadId, Stamp};
use deletion::Deletions;
use ledger::{Ledger, Place};
use object::Object;

/// The longest line to read into memory. The Go `bd` writes lines of tens of megabytes for pasted logs.
pub const MAX_FOREIGN_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The key in `metadata` that holds imported data without a field of its own.
pub(crate) const KEPT: &str = "_import";

/// The title of a placeholder for a deleted bead whose content is unknown.
const ONLY_DELETED: &str = "(deleted)";

/// Returns the actor for writes whose author the file does not name. It is not the caller, because two
/// replicas that import the same file must get the same result.
pub(crate) fn unknown_actor() -> Actor {
    "import".parse().expect("a valid name")
}

/// Returns whether a stamp comes from an import: replicas never mint stamps with tag 0.
pub(crate) fn is_imported(stamp: Stamp) -> bool {
    stamp.counter().is_multiple_of(COUNTER_STEP)
}

/// The parsed lines of the files to import. Bad lines are reported and skipped.
#[derive(Debug, Default)]
pub struct Import {
    /// Boxed, because they are large and move several times.
    drafts: Vec<(Place, Box<Draft>)>,
    deletions: Deletions,
    /// Edges and notes from separate files.
    edges: Vec<(Place, BeadId, Dependency)>,
    notes: Vec<(Place, legacy::NoteOf)>,
    ledger: Ledger,
}

impl Import {
    /// Adds a line of `issues.jsonl`. Lines are counted from 1.
    pub fn line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        if let Some(parsed) = parse_line(number, bytes) {
            self.take(Place { file: file.into(), line: number }, parsed);
        }
    }

    /// Adds many lines of `issues.jsonl`, parsed in parallel. The result is the same as with
    /// [`line`](Self::line).
    pub fn lines<B: AsRef<[u8]> + Sync>(&mut self, file: &str, lines: &[(usize, B)]) {
        let parts = in_parts(lines, |lines| {
            let parsed = lines.iter().map(|(number, bytes)| (*number, parse_line(*number, bytes.as_ref())));
            parsed.collect::<Vec<_>>()
        });
        let file: Arc<str> = file.into();
        for (line, parsed) in parts.into_iter().flatten() {
            if let Some(parsed) = parsed {
                self.take(Place { file: file.clone(), line }, parsed);
            }
        }
    }

    fn take(&mut self, place: Place, parsed: Result<ParsedLine, Refusal>) {
        self.ledger.summary.lines += 1;
        match parsed {
            Ok(ParsedLine::Bead(draft)) => {
                for notice in draft.notices() {
                    self.ledger.decide_with_reason(&place, Some(draft.id()), Verdict::Adapted, notice);
                }
                for _ in draft.words() {
                    self.ledger.decide(&place, Some(draft.id()), Verdict::WordKept);
                }
                if draft.omits_zero() {
                    self.ledger.decide(&place, Some(draft.id()), Verdict::ZeroPriority);
                }
                self.drafts.push((place, draft));
            }
            Ok(ParsedLine::Deletion(map)) => {
                let id = id_in(&map);
                if let Err(reason) = self.deletions.read(place.clone(), Fields::new(map)) {
                    self.ledger.decide_with_reason(&place, id.as_ref(), Verdict::Refused, &reason);
                }
            }
            Ok(ParsedLine::Header) => self.ledger.decide(&place, None, Verdict::Header),
            Err((id, reason)) => {
                self.ledger.decide_with_reason(&place, id.as_ref(), Verdict::Refused, &reason);
            }
        }
    }

    /// Adds a line of `deletions.jsonl`.
    pub fn deletion_line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        self.each(file, number, bytes, |import, place, map| import.deletions.read(place, Fields::new(map)));
    }

    /// Records a line that could not be read.
    pub fn refuse(&mut self, file: &str, number: usize, reason: &str) {
        self.ledger.summary.lines += 1;
        let place = Place { file: file.into(), line: number };
        self.ledger.decide_with_reason(&place, None, Verdict::Refused, reason);
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
            self.ledger.decide_with_reason(&place, id.as_ref(), Verdict::Refused, &reason);
        }
    }
}

type Refusal = (Option<BeadId>, String);

/// A parsed line of `issues.jsonl`.
enum ParsedLine {
    Bead(Box<Draft>),
    /// A line of `deletions.jsonl`: the user imports that file directly, or appended it to `issues.jsonl`.
    Deletion(Map<String, Value>),
    /// The header of an export, `{"_schema": …}`.
    Header,
}

/// Returns whether a line only records the deletion of a bead, without its content.
fn is_deletion(map: &Map<String, Value>) -> bool {
    map.contains_key("ts") && !["title", "status", "created_at"].iter().any(|name| map.contains_key(*name))
}

/// Parses a line of `issues.jsonl`. Returns `None` for a blank line.
fn parse_line(number: usize, bytes: &[u8]) -> Option<Result<ParsedLine, Refusal>> {
    let object = object::read::<Object>(content(number, bytes)?).map_err(|reason| (None, reason));
    Some(object.and_then(|object| {
        let id = id_in(&object.others);
        if id.is_none() && object.others.contains_key("_schema") {
            return Ok(ParsedLine::Header);
        }
        let kind = object.others.get("_type").and_then(Value::as_str);
        match (kind, &id) {
            (Some("memory"), None) => {
                let draft = Draft::memory(&object.others).map_err(|reason| (None, reason))?;
                Ok(ParsedLine::Bead(Box::new(draft)))
            }
            (Some(kind), _) if !["issue", "memory"].contains(&kind) => {
                Err((id, format!("it is a {kind}, not a bead")))
            }
            (None, Some(_)) if is_deletion(&object.others) => Ok(ParsedLine::Deletion(object.others)),
            _ => {
                let exact = object.exact();
                let draft = Draft::read(Fields::new(object.others), exact).map_err(|reason| (id, reason))?;
                Ok(ParsedLine::Bead(Box::new(draft)))
            }
        }
    }))
}

/// Strips the byte order mark of the first line. Returns `None` for a blank line.
fn content(number: usize, bytes: &[u8]) -> Option<&[u8]> {
    let bytes = if number == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
    (!bytes.trim_ascii().is_empty()).then_some(bytes)
}

fn id_in(map: &Map<String, Value>) -> Option<BeadId> {
    map.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok())
}

/// Values kept under [`KEPT`], by field name.
pub(crate) type Kept = BTreeMap<String, Value>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    #[test]
    fn lines_in_parallel_give_the_same_result_as_one_by_one() {
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
