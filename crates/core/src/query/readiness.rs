use serde::Serialize;

use crate::{Bead, BeadType, Catalog, Lineage, SharedBead, Status};

/// Whether a live bead can be claimed now, and if not, why.
// Every combination of status, assignee and lease has exactly one of these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// Can be claimed now. If it has an assignee but no lease, only the assignee gets it.
    Ready,
    /// Claimed, and the lease has not expired.
    Held,
    /// Has open blockers, or a custom status that is never ready, such as `blocked`.
    Blocked,
    /// Waits for the answer to a question.
    Asked,
    /// Deferred to a later time.
    Deferred,
    /// An epic with open children.
    Waiting,
    /// In progress without a claim: it has no lease that could expire, so it never becomes ready by itself.
    Stuck,
    /// Closed.
    Closed,
}

impl Catalog {
    /// Returns the readiness of a bead, or `None` if it is deleted or unknown.
    pub fn readiness(&self, lineage: &Lineage, now_ms: u64) -> Option<Readiness> {
        let bead = self.live_bead(lineage)?;
        let deferred = bead.defer_until.value.is_some_and(|until| until.ms() > now_ms);
        Some(match bead.status() {
            Status::Closed => Readiness::Closed,
            Status::InProgress if is_stuck(bead) => Readiness::Stuck,
            Status::InProgress if !bead.claim.expired(now_ms) => Readiness::Held,
            _ if self.set_aside_by(bead).is_some_and(|word| word.as_str() == "deferred") => {
                Readiness::Deferred
            }
            _ if self.set_aside_by(bead).is_some() => Readiness::Blocked,
            _ if self.open_blockers(lineage).next().is_some() => Readiness::Blocked,
            _ if bead.has_open_question() => Readiness::Asked,
            _ if deferred => Readiness::Deferred,
            _ if bead.kind.value.kind == BeadType::Epic && self.open_children(lineage).next().is_some() => {
                Readiness::Waiting
            }
            _ => Readiness::Ready,
        })
    }

    /// Returns the beads that are in progress without a claim, by priority and age.
    pub fn stuck(&self) -> impl Iterator<Item = (&Lineage, &Bead)> {
        let is_stuck = |bead: &SharedBead| bead.status() == Status::InProgress && is_stuck(bead);
        let stuck = self.work_by_age().filter(|(_, bead)| is_stuck(bead));
        let mut stuck: Vec<(&Lineage, &Bead)> =
            stuck.map(|(lineage, bead)| (lineage, bead.as_ref())).collect();
        stuck.sort_by_key(|(_, bead)| bead.priority.value);
        stuck.into_iter()
    }
}

/// Returns whether a bead in progress has no claim. Its status was then set by an older version, an import or
/// `update --status`.
fn is_stuck(bead: &Bead) -> bool {
    !bead.claim.is_taken()
}
