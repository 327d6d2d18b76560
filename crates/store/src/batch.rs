//! All-or-nothing batches: all operations are applied, in one record of the journal, or none.

use std::collections::BTreeMap;

use beads_core::{Applied, Catalog, Clock, Delta, Op, Savepoint};

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::world::World;
use crate::{Error, Receipt, RequestKey, Result};

/// Operations in the order in which they are applied. Each sees the effects of those before it.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The operations.
    pub ops: &'a [Op],
    /// Names for beads that the batch creates, each with the index of the operation that creates it. Later
    /// operations may use such a name in place of an id, where it takes precedence.
    pub names: &'a BTreeMap<String, usize>,
}

/// A batch that the catalog has taken, with what is needed to roll it back.
struct Tried {
    applied: Vec<Applied>,
    savepoints: Vec<Savepoint>,
    clock: Clock,
}

impl<D: Disk, W: World> Replica<D, W> {
    /// Checks and applies all operations in memory, or none.
    ///
    /// As with [`apply`](Self::apply), do not acknowledge the batch before [`commit`](Self::commit) returns.
    pub fn apply_all(&mut self, batch: Batch<'_>, caller: &Caller) -> Result<Vec<Applied>> {
        let now_ms = self.now_ms();
        if let Some(receipt) = self.receipt(caller, now_ms)? {
            let applied: Vec<Applied> = receipt.parts.iter().map(Receipt::applied).collect();
            // A claim that the batch itself ended need not be current.
            for (index, one) in applied.iter().enumerate() {
                if !applied[index + 1..].iter().any(|later| later.bead == one.bead) {
                    self.check_claim_is_current(one, caller)?;
                }
            }
            return Ok(applied);
        }
        let tried = self.try_all(batch, caller, now_ms)?;
        let mut delta = Delta::default();
        tried.applied.iter().for_each(|one| delta.join(&one.delta));
        if !delta.is_empty() || caller.requires_receipt() {
            // Apply the deltas again as one, so that watchers see the same events as after a restart.
            tried.savepoints.into_iter().rev().for_each(|savepoint| self.catalog.roll_back(savepoint));
            let receipt = |key: &RequestKey| Receipt::of_batch(key, now_ms, &tried.applied);
            self.record(caller, now_ms, delta, receipt)?;
        }
        Ok(tried.applied)
    }

    /// Returns what a batch would do, without applying it. `show` sees the catalog as it would be afterwards.
    pub fn dry_run_all<T>(
        &mut self,
        batch: Batch<'_>,
        caller: &Caller,
        show: impl FnOnce(&Catalog, &[Applied]) -> T,
    ) -> Result<T> {
        let tried = self.try_all(batch, caller, self.now_ms())?;
        let shown = show(&self.catalog, &tried.applied);
        self.roll_back(tried);
        Ok(shown)
    }

    fn try_all(&mut self, batch: Batch<'_>, caller: &Caller, now_ms: u64) -> Result<Tried> {
        let (applied, savepoints) = (Vec::new(), Vec::new());
        let mut tried = Tried { applied, savepoints, clock: self.clock.clone() };
        for index in 0..batch.ops.len() {
            if let Err(error) = self.try_one(batch, index, caller, now_ms, &mut tried) {
                self.roll_back(tried);
                return Err(Error::Batch { index, source: Box::new(error) });
            }
        }
        Ok(tried)
    }

    fn try_one(
        &mut self,
        batch: Batch<'_>,
        index: usize,
        caller: &Caller,
        now_ms: u64,
        tried: &mut Tried,
    ) -> Result<()> {
        let mut op = batch.ops[index].clone();
        for reference in op.references_mut() {
            let Some(maker) = batch.names.get(reference) else { continue };
            let made = tried.applied.get(*maker).and_then(|applied| applied.bead.as_ref());
            let made = made.ok_or_else(|| beads_core::Error::NotFound(reference.clone()))?;
            *reference = self.catalog.id_of(made).to_string();
        }
        let applied = self.decide(&op, caller, now_ms)?;
        let savepoint = self.catalog.savepoint(&applied.delta);
        self.catalog.join_delta(&applied.delta)?;
        tried.savepoints.push(savepoint);
        tried.applied.push(applied);
        Ok(())
    }

    fn roll_back(&mut self, tried: Tried) {
        for savepoint in tried.savepoints.into_iter().rev() {
            self.catalog.roll_back(savepoint);
        }
        self.clock = tried.clock;
    }
}
