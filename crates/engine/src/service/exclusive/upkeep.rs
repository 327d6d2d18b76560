//! Maintenance of claim refs after the claim: when it runs, and what is recorded.

use std::time::{Duration, Instant};

use beads_core::Lineage;
use beads_store::{SteadyClock, SystemUptime, Upkeep, UpkeepResult};

use super::scope::Needs;
use crate::service::Service;

impl Service {
    /// Returns the maintenance of claim refs to run after the exchange that begins now; `None` if this clone
    /// uses no claim refs.
    pub fn upkeep(&mut self) -> Option<Upkeep> {
        let needs = self.claim_needs(false, false).unwrap_or(Needs::Nothing);
        let book = &mut self.claim_refs.book;
        if needs == Needs::Nothing && book.own.is_empty() {
            return None;
        }
        if needs != Needs::Nothing {
            book.adopt_offline_claims(&mut self.replica);
        }
        Some(self.claim_refs.book.upkeep(&self.replica, self.ref_prefix(), &SystemUptime.now()))
    }

    /// Returns a listing of the claim refs that changes none.
    pub fn look(&self) -> Upkeep {
        self.claim_refs.book.listing_only(self.ref_prefix())
    }

    /// Records the result of the maintenance.
    pub(in crate::service) fn upkept(&mut self, result: UpkeepResult) {
        let upkept = self.claim_refs.book.upkeep_finished(&mut self.replica, result, &SystemUptime.now());
        upkept.remarks.iter().for_each(|remark| crate::log::note(remark));
        if let Some(reason) = upkept.refused {
            crate::log::note(&format!("the remote rejects claim refs: {reason}"));
            self.note_refused(&reason);
        }
        self.claim_refs.save();
    }

    /// Returns when the next ref has to be updated because its lease was renewed.
    pub fn next_renewal(&self) -> Option<Instant> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        let left_ms = self.claim_refs.book.next_renewal_ms(catalog, now_ms, &SystemUptime.now())?;
        Instant::now().checked_add(Duration::from_millis(left_ms))
    }

    /// Records a claim that was made here without the remote.
    pub(in crate::service) fn note_offline_claim(&mut self, lineage: &Lineage, fence: beads_core::Stamp) {
        self.claim_refs.book.note_offline_claim(lineage, fence);
    }
}
