use serde::Serialize;

use crate::{Bead, BeadType, Catalog, Lineage, Status};

/// Where a live bead stands. Every combination of status, assignee and lease is exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Can be claimed now. One that was only assigned, without a lease, waits for its assignee to claim it.
    Ready,
    /// Claimed, and the lease runs.
    Held,
    /// Waits for unfinished beads, or was set aside by a word such as `blocked`.
    Blocked,
    /// Not before a time that is still to come.
    Deferred,
    /// An epic whose children are not finished.
    Waiting,
    /// In progress without a claim: nobody works on it under a lease, and it is handed out to nobody.
    Stuck,
    Closed,
}

impl Catalog {
    /// `None` for a bead that is deleted or not here.
    pub fn standing(&self, lineage: &Lineage, now_ms: u64) -> Option<Standing> {
        let bead = self.live_bead(lineage)?;
        let deferred = bead.defer_until.value.is_some_and(|until| until.ms() > now_ms);
        Some(match bead.status() {
            Status::Closed => Standing::Closed,
            Status::InProgress if is_stuck(bead) => Standing::Stuck,
            Status::InProgress if !bead.claim.expired(now_ms) => Standing::Held,
            _ if self.set_aside_by(bead).is_some_and(|word| word.as_str() == "deferred") => {
                Standing::Deferred
            }
            _ if self.set_aside_by(bead).is_some() => Standing::Blocked,
            _ if self.open_blockers(lineage).next().is_some() => Standing::Blocked,
            _ if deferred => Standing::Deferred,
            _ if bead.kind.value.kind == BeadType::Epic && self.open_children(lineage).next().is_some() => {
                Standing::Waiting
            }
            _ => Standing::Ready,
        })
    }

    /// Beads in progress without a claim, by priority, then oldest first.
    pub fn stuck(&self) -> impl Iterator<Item = (&Lineage, &Bead)> {
        let live = self.work().map(|(lineage, bead)| (lineage, bead.as_ref()));
        live.filter(|(_, bead)| bead.status() == Status::InProgress && is_stuck(bead))
    }
}

/// In progress by its stored status alone: by an older version, an import or a wish, not by a claim.
fn is_stuck(bead: &Bead) -> bool {
    !bead.claim.is_taken()
}
