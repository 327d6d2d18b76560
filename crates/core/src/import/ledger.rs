//! Every decision of an import, one by one. The summary counts them, so it cannot forget one.

use std::sync::Arc;

use serde::Serialize;

use super::Summary;
use super::summary::Notice;
use crate::BeadId;

/// Where a line stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub file: Arc<str>,
    pub line: usize,
}

/// What became of a line, or of something on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub file: Arc<str>,
    pub line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<BeadId>,
    pub decision: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The first ten are about a line, and every line has exactly one of them. The others are about something on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Created,
    Updated,
    Unchanged,
    Deleted,
    Repeated,
    Attached,
    Header,
    Collision,
    CollisionSkipped,
    Refused,
    EdgeMade,
    EdgeUnchanged,
    EdgeSkipped,
    NoteSkipped,
    Adapted,
    WordKept,
    ZeroPriority,
    Leased,
    Stuck,
}

impl Verdict {
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

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub summary: Summary,
    pub decisions: Vec<Decision>,
}

impl Ledger {
    pub fn decide(&mut self, place: &Place, id: Option<&BeadId>, verdict: Verdict) {
        self.enter(place, id, verdict, None);
    }

    pub fn explain(&mut self, place: &Place, id: Option<&BeadId>, verdict: Verdict, reason: &str) {
        self.enter(place, id, verdict, Some(reason.to_owned()));
    }

    fn enter(&mut self, place: &Place, id: Option<&BeadId>, verdict: Verdict, reason: Option<String>) {
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
