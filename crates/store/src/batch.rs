//! Several operations as one: all go through, in one record of the journal, or none leaves a trace.

use std::collections::BTreeMap;

use beads_core::{Applied, Catalog, Clock, Delta, Op, Savepoint};

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::wall::World;
use crate::{Asked, Error, Receipt, Result};

/// Operations in the order in which they are applied; each sees what those before it did.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    pub ops: &'a [Op],
    /// Names for beads that the batch makes, each with the number of the operation that makes it. Later operations may
    /// use such a name wherever an id can stand, and there it means nothing else.
    pub names: &'a BTreeMap<String, usize>,
}

/// A batch that the catalog has taken, and the way back.
struct Tried {
    applied: Vec<Applied>,
    savepoints: Vec<Savepoint>,
    clock: Clock,
}

impl<D: Disk, W: World> Replica<D, W> {
    /// Checks and applies all operations in memory, or none. Like [`apply`](Self::apply) it must not be acknowledged
    /// before [`commit`](Self::commit).
    pub fn apply_all(&mut self, batch: Batch<'_>, caller: &Caller) -> Result<Vec<Applied>> {
        let now_ms = self.now_ms();
        if let Some(receipt) = self.receipt(caller, now_ms)? {
            let applied: Vec<Applied> = receipt.parts.iter().map(Receipt::applied).collect();
            // A claim that the batch itself ended was never the caller's to go on with.
            for (index, one) in applied.iter().enumerate() {
                if !applied[index + 1..].iter().any(|later| later.bead == one.bead) {
                    self.check_claim_stands(one, caller, now_ms)?;
                }
            }
            return Ok(applied);
        }
        let tried = self.try_all(batch, caller, now_ms)?;
        let mut delta = Delta::default();
        tried.applied.iter().for_each(|one| delta.join(&one.delta));
        if !delta.is_empty() || caller.is_remembered() {
            // Taken once more, as one, so that watchers are told the same as after a restart.
            tried.savepoints.into_iter().rev().for_each(|savepoint| self.catalog.roll_back(savepoint));
            let receipt = |asked: &Asked| Receipt::of_batch(asked, now_ms, &tried.applied);
            self.record(caller, now_ms, delta, receipt)?;
        }
        Ok(tried.applied)
    }

    /// What a batch would do: `show` sees the catalog as it would be afterwards.
    pub fn rehearse_all<T>(
        &mut self,
        batch: Batch<'_>,
        caller: &Caller,
        show: impl FnOnce(&Catalog, &[Applied]) -> T,
    ) -> Result<T> {
        let tried = self.try_all(batch, caller, self.now_ms())?;
        let shown = show(&self.catalog, &tried.applied);
        self.take_back(tried);
        Ok(shown)
    }

    fn try_all(&mut self, batch: Batch<'_>, caller: &Caller, now_ms: u64) -> Result<Tried> {
        let (applied, savepoints) = (Vec::new(), Vec::new());
        let mut tried = Tried { applied, savepoints, clock: self.clock.clone() };
        for index in 0..batch.ops.len() {
            if let Err(error) = self.try_one(batch, index, caller, now_ms, &mut tried) {
                self.take_back(tried);
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
        self.catalog.take(&applied.delta)?;
        tried.savepoints.push(savepoint);
        tried.applied.push(applied);
        Ok(())
    }

    fn take_back(&mut self, tried: Tried) {
        for savepoint in tried.savepoints.into_iter().rev() {
            self.catalog.roll_back(savepoint);
        }
        self.clock = tried.clock;
    }
}
