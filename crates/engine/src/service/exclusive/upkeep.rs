//! Claim refs after the claim: when they are looked after, and what is noted of it.

use std::time::{Duration, Instant};

use beads_core::Lineage;
use beads_store::{Steady, SystemUptime, Upkeep, UpkeepResult};

use super::scope::Needs;
use crate::service::Service;

impl Service {
    /// What is to be done with claim refs after the exchange that begins now. `None` when nobody here has to do with claim
    /// refs.
    pub fn upkeep(&mut self) -> Option<Upkeep> {
        let needs = self.claim_needs(false, false).unwrap_or(Needs::Nothing);
        let book = &mut self.claim_refs.book;
        if needs == Needs::Nothing && book.own.is_empty() {
            return None;
        }
        if needs != Needs::Nothing {
            book.adopt_made(&mut self.replica);
        }
        Some(self.claim_refs.book.upkeep(&self.replica, self.ref_prefix(), &SystemUptime.now()))
    }

    /// A look at the claim refs that moves none.
    pub fn look(&self) -> Upkeep {
        self.claim_refs.book.look(self.ref_prefix())
    }

    /// Takes in what an upkeep did.
    pub(in crate::service) fn upkept(&mut self, result: UpkeepResult) {
        let upkept = self.claim_refs.book.upkept(&mut self.replica, result, &SystemUptime.now());
        upkept.remarks.iter().for_each(|remark| crate::log::note(remark));
        if let Some(reason) = upkept.refused {
            crate::log::note(&format!("the remote does not take claim refs: {reason}"));
            self.note_refused(&reason);
        }
        self.claim_refs.save();
    }

    /// When the next ref has to be moved because its lease was renewed.
    pub fn next_renewal(&self) -> Option<Instant> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        let left_ms = self.claim_refs.book.next_renewal_ms(catalog, now_ms, &SystemUptime.now())?;
        Instant::now().checked_add(Duration::from_millis(left_ms))
    }

    /// Notes a claim that was made here without the remote.
    pub(in crate::service) fn note_made(&mut self, lineage: &Lineage, fence: beads_core::Stamp) {
        self.claim_refs.book.note_made(lineage, fence);
    }
}
