//! Whether the remote has confirmed a claim.

use std::borrow::Cow;

use beads_core::{Lineage, Op};
use beads_store::{SteadyClock, SystemUptime};

use crate::service::Service;

impl Service {
    /// Returns whether the claim on a bead is the one that its ref names, as far as this clone knows. A claim
    /// of this clone counts only while no other machine can have taken over its ref.
    pub(in crate::service) fn is_confirmed(&self, lineage: &Lineage) -> bool {
        let Some(bead) = self.replica.catalog().bead(lineage) else { return false };
        let Some(fence) = bead.claim.fence().filter(|_| bead.claim.is_taken()) else { return false };
        let (now_ms, now) = (self.replica.now_ms(), SystemUptime.now());
        if let Some(hub) = &self.hub {
            return hub.confirms(lineage, bead, now_ms);
        }
        if let Some(confirmed) = self.claim_refs.book.is_confirmed(lineage, bead, now_ms, &now) {
            return confirmed;
        }
        if !self.has_remote() {
            return false;
        }
        let name = lineage.claim_name();
        let seen = self.claim_refs.book.seen.get(&name).and_then(|value| value.record.clone());
        let seen = seen.or_else(|| self.repository.inner().last_seen_claim(&name));
        seen.is_some_and(|record| {
            record.is_live() && record.fence == fence && Some(&record.holder) == bead.claim.assignee.as_ref()
        })
    }

    /// Returns an operation with the current fence of its claim. If a losing claim of another machine
    /// overwrote the claim, it was restored under a new fence that its holder does not know.
    pub(in crate::service) fn with_current_fence<'a>(&self, op: &'a Op) -> Cow<'a, Op> {
        let mut op = Cow::Borrowed(op);
        if let Some(fence) = op.guard().and_then(|guard| guard.fence.as_ref()) {
            let current = self.claim_refs.book.current_fence(fence.0);
            if current != fence.0
                && let Some(fence) = op.to_mut().guard_mut().and_then(|guard| guard.fence.as_mut())
            {
                fence.0 = current;
            }
        }
        op
    }
}
