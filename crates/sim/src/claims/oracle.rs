//! Checks that each bead has at most one confirmed holder, and none after its holder closed it.

use std::collections::BTreeMap;

use beads_core::{Lineage, Stamp, Status};
use beads_store::{OwnClaim, SteadyClock, Uptime, World};

use super::clock::LeaseClock;
use super::node::Node;
use crate::machine::Violation;
use crate::world::SimWorld;

/// Confirmed claims as their holders know them. A holder whose process died relies on its last answer until
/// the lease ends or the machine reboots.
#[derive(Debug, Default)]
pub struct Holders {
    held: BTreeMap<(usize, String), Held>,
    /// Confirmed claims under which their bead was closed. Until the lease is over, the ref keeps others away.
    finished: BTreeMap<Lineage, Held>,
}

#[derive(Debug, Clone)]
struct Held {
    lineage: Lineage,
    fence: Stamp,
    began: Uptime,
    lease_ms: u64,
    clock: LeaseClock,
    /// The end of the lease in the store, by the machine's wall clock.
    expires_ms: u64,
    wall: SimWorld,
    /// The process that confirmed it.
    incarnation: u64,
}

impl Held {
    /// Returns whether the lease on the ref is running.
    fn keeps_others_away(&self) -> bool {
        self.began.elapsed_ms(&self.clock.now()).is_some_and(|ms| ms < self.lease_ms)
    }

    fn is_safe(&self) -> bool {
        self.keeps_others_away() && self.wall.now_ms() <= self.expires_ms
    }
}

impl Holders {
    /// Records what a machine tells its users now, and checks it.
    pub fn observe(&mut self, node: &Node) -> Result<(), Violation> {
        if node.replica.is_none() {
            return Ok(());
        }
        // A process that lost the file of its predecessor does not know these claims and does not report
        // them.
        self.held.retain(|(index, claim), held| {
            let unknown = held.incarnation < node.incarnation && !node.book.own.contains_key(claim);
            held.is_safe() && (*index != node.index || unknown && !sees_claim_over(node, held))
        });
        for (claim, own) in node.confirmed() {
            self.hold(node, claim, &own);
        }
        self.check()
    }

    /// Records that an agent closes a bead, if it has a confirmed claim on it.
    pub fn close(&mut self, node: &Node, lineage: &Lineage) {
        let mut claims =
            self.held.iter().filter(|((index, _), held)| *index == node.index && held.lineage == *lineage);
        if let Some((_, held)) = claims.rfind(|(_, held)| held.is_safe()) {
            self.finished.insert(lineage.clone(), held.clone());
        }
    }

    /// Checks a bead that is handed out with a confirmed claim.
    pub fn check_unfinished(&self, lineage: &Lineage) -> Result<(), Violation> {
        match self.finished.get(lineage).filter(|held| held.keeps_others_away()) {
            Some(held) => {
                Err(format!("{lineage:?} was handed out again although {:?} closed it", held.fence))
            }
            None => Ok(()),
        }
    }

    fn hold(&mut self, node: &Node, claim: String, own: &OwnClaim) {
        let Some((_, began)) = own.pushed.clone() else { return };
        let (lineage, fence, lease_ms) = (own.lineage.clone(), own.fence, own.lease_ms);
        let (clock, wall, incarnation) = (node.clock.clone(), node.world.clone(), node.incarnation);
        let bead = node.replica.as_ref().and_then(|replica| replica.catalog().bead(&lineage));
        let expires = bead.and_then(|bead| bead.claim.expires);
        let expires_ms = expires.map_or(0, beads_core::Timestamp::ms);
        let held = Held { lineage, fence, began, lease_ms, clock, expires_ms, wall, incarnation };
        self.held.insert((node.index, claim), held);
    }

    fn check(&self) -> Result<(), Violation> {
        let mut by_bead: BTreeMap<&Lineage, &(usize, String)> = BTreeMap::new();
        for (holder, held) in self.held.iter().filter(|(_, held)| held.is_safe()) {
            // Agents on one machine share its store, which decides between them.
            if let Some(other) = by_bead.insert(&held.lineage, holder).filter(|other| other.0 != holder.0) {
                return Err(format!(
                    "{:?} is held by two confirmed claims: {other:?} and {holder:?}",
                    held.lineage
                ));
            }
        }
        Ok(())
    }
}

/// Returns whether the local store shows the holder that its claim is over.
fn sees_claim_over(node: &Node, held: &Held) -> bool {
    let Some(replica) = &node.replica else { return false };
    replica.catalog().bead(&held.lineage).is_none_or(|bead| {
        let claim = &bead.claim;
        let lapsed = claim.fence() != Some(held.fence) || claim.expired(replica.now_ms());
        lapsed || bead.status.value.status == Status::Closed
    })
}
