//! Records every decision of an import. The summary is counted from the decisions, so the two always agree.

use std::sync::Arc;

use serde::Serialize;

use super::Summary;
use super::summary::Notice;
use crate::BeadId;

/// The position of a line.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub file: Arc<str>,
    pub line: usize,
}

/// The outcome for a line, or for a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The name of the file.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
    /// The bead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<BeadId>,
    /// The outcome.
    pub decision: Verdict,
    /// The reason, for outcomes that need one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An outcome. Every line has exactly one of the first ten. The others are about a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The bead is new.
    Created,
    /// The bead existed and was changed.
    Updated,
    /// The store already has everything on the line.
    Unchanged,
    /// The bead was deleted.
    Deleted,
    /// An earlier line is about the same bead. Both were used.
    Repeated,
    /// An edge or a note from a separate file was added to its bead.
    Attached,
    /// The line describes the file.
    Header,
    /// The deletion of a bead that lost its id is kept with the bead that holds the id.
    Collision,
    /// The same deletion was left out, because the file does not have the bead that holds the id.
    CollisionSkipped,
    /// The line was not imported.
    Refused,
    /// An edge was added or changed.
    EdgeMade,
    /// The store already has the edge.
    EdgeUnchanged,
    /// An edge was not imported.
    EdgeSkipped,
    /// A note was not imported.
    NoteSkipped,
    /// A value did not fit and was changed. The metadata has the original.
    Adapted,
    /// A custom status or type was kept.
    WordKept,
    /// The line omits a priority of 0.
    ZeroPriority,
    /// The holder of a bead in progress got a new lease.
    Leased,
    /// The bead is in progress without an assignee.
    Stuck,
}

impl Verdict {
    /// Returns whether this is the outcome of a whole line.
    pub fn is_about_a_line(self) -> bool {
        use Verdict::*;
        matches!(
            self,
            Created
                | Updated
                | Unchanged
                | Deleted
                | Repeated
                | Attached
                | Header
                | Collision
                | CollisionSkipped
                | Refused
        )
    }
}

/// The decisions so far, and their counts.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub summary: Summary,
    pub decisions: Vec<Decision>,
}

impl Ledger {
    pub fn decide(&mut self, place: &Place, id: Option<&BeadId>, verdict: Verdict) {
        self.record(place, id, verdict, None);
    }

    pub fn decide_with_reason(&mut self, place: &Place, id: Option<&BeadId>, verdict: Verdict, reason: &str) {
        self.record(place, id, verdict, Some(reason.to_owned()));
    }

    fn record(&mut self, place: &Place, id: Option<&BeadId>, verdict: Verdict, reason: Option<String>) {
        let summary = &mut self.summary;
        let notice = || Notice {
            file: place.file.to_string(),
            line: place.line,
            id: id.cloned(),
            reason: reason.clone().unwrap_or_default(),
        };
        match verdict {
            Verdict::Created => summary.created += 1,
            Verdict::Updated => summary.updated += 1,
            Verdict::Unchanged => summary.unchanged += 1,
            Verdict::Deleted => summary.tombstones += 1,
            Verdict::Repeated => summary.repeated += 1,
            Verdict::Attached => summary.attached += 1,
            Verdict::Header => summary.headers += 1,
            Verdict::Collision => summary.collisions += 1,
            Verdict::CollisionSkipped => summary.collisions_skipped.push(notice()),
            Verdict::Refused => summary.skipped.push(notice()),
            Verdict::EdgeMade => summary.edges += 1,
            Verdict::EdgeUnchanged => summary.edges_unchanged += 1,
            Verdict::EdgeSkipped => summary.edges_skipped.push(notice()),
            Verdict::NoteSkipped => summary.notes_skipped.push(notice()),
            Verdict::Adapted => summary.notices.push(notice()),
            Verdict::WordKept => summary.words += 1,
            Verdict::ZeroPriority => summary.zero_priorities += 1,
            Verdict::Leased => summary.leases += 1,
            Verdict::Stuck => summary.stuck.extend(id.cloned()),
        }
        let (file, line, id) = (place.file.clone(), place.line, id.cloned());
        self.decisions.push(Decision { file, line, id, decision: verdict, reason });
    }
}
