//! What an import did, or would do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Place;
use crate::BeadId;

/// Every line that is not blank is in exactly one of `created`, `updated`, `unchanged`, `tombstones`, `repeated`, `attached`
/// and `skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Lines that are not blank.
    pub lines: usize,
    /// Beads that were not here.
    pub created: usize,
    /// Beads that were here and learned something.
    pub updated: usize,
    /// Beads that the store already knows as they are in the file, or newer.
    pub unchanged: usize,
    /// Beads that are deleted by this.
    pub tombstones: usize,
    /// Lines about a bead that another line was about already; both count.
    pub repeated: usize,
    /// Lines that belong to a bead of another line: edges and notes in files of their own.
    pub attached: usize,
    /// Edges that were not here, or not so.
    pub edges: usize,
    /// Notes that were not here.
    pub notes: usize,
    /// Edges that lead to no bead; they stay in `metadata`.
    pub dangling: usize,
    /// Lines that were refused, and why.
    pub skipped: Vec<Notice>,
    /// Values that did not fit; the originals are in `metadata`.
    pub notices: Vec<Notice>,
    pub dry_run: bool,
}

/// Something to know about a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    pub file: String,
    pub line: usize,
    pub id: Option<BeadId>,
    pub reason: String,
}

impl Summary {
    pub(super) fn skip(&mut self, file: &str, line: usize, id: Option<BeadId>, reason: &str) {
        self.skipped.push(Notice { file: file.to_owned(), line, id, reason: reason.to_owned() });
    }

    pub(super) fn notice(&mut self, place: &Place, id: &BeadId, reasons: &[String]) {
        let notice = |reason: &String| Notice {
            file: place.file.clone(),
            line: place.line,
            id: Some(id.clone()),
            reason: reason.clone(),
        };
        self.notices.extend(reasons.iter().map(notice));
    }
}
