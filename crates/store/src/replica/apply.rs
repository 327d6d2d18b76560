//! Mutations: checked, applied in memory, and made durable.

use beads_core::{Actor, Applied, Conflict, Context, Delta, Event, Field, Lineage, Mark, Op, Status};

use super::{Caller, Replica};
use crate::disk::Disk;
use crate::world::World;
use crate::{Receipt, Record, RequestKey, Result, Step};

impl<D: Disk, W: World> Replica<D, W> {
    /// Returns whether this request was answered before.
    pub fn has_receipt(&self, caller: &Caller) -> Result<bool> {
        Ok(self.receipt(caller, self.world.now_ms())?.is_some())
    }

    /// Checks and applies a mutation in memory.
    ///
    /// Do not acknowledge it before [`commit`](Self::commit) returns.
    pub fn apply(&mut self, op: &Op, caller: &Caller) -> Result<Applied> {
        let now_ms = self.world.now_ms();
        if let Some(receipt) = self.receipt(caller, now_ms)? {
            let applied = receipt.applied();
            self.check_claim_is_current(&applied, caller)?;
            return Ok(applied);
        }
        let applied = self.decide(op, caller, now_ms)?;
        if applied.delta.is_empty() && !caller.requires_receipt() {
            return Ok(applied);
        }
        let step = match op {
            Op::Undo(undo) => self.last_operations.step(&caller.actor, undo),
            _ => Step::Do,
        };
        let delta = applied.delta.clone();
        self.record_step(caller, now_ms, (delta, step), |key| Receipt::new(key, now_ms, &applied))?;
        Ok(applied)
    }

    /// Returns the receipt of an earlier attempt of the same request. Fails if the answer to a new request
    /// could not be remembered.
    pub(crate) fn receipt(&self, caller: &Caller, now_ms: u64) -> Result<Option<&Receipt>> {
        let Some(key) = &caller.request else { return Ok(None) };
        let found = self.receipts.find(key, now_ms)?;
        if found.is_none() {
            self.receipts.check_capacity(key, now_ms)?;
        }
        Ok(found)
    }

    /// Fails if the claim that a repeated request would report has ended: released, lost, expired, or its
    /// bead closed.
    pub(crate) fn check_claim_is_current(&self, applied: &Applied, caller: &Caller) -> Result<()> {
        let (Some(fence), Some(lineage)) = (applied.fence, &applied.bead) else { return Ok(()) };
        let Some(bead) = self.catalog.bead(lineage) else { return Ok(()) };
        let is_current = bead.claim.fence() == Some(fence)
            && bead.claim.holder(self.lease_now_ms()) == Some(&caller.actor)
            && bead.status() != Status::Closed
            && bead.deletion.is_none();
        if is_current {
            return Ok(());
        }
        let current = bead.claim.fence().map_or_else(|| "none".to_owned(), |fence| fence.to_string());
        let holder = bead.claim.assignee.clone();
        let id = self.catalog.id_of(lineage).clone();
        Err(beads_core::Error::StaleClaim { id, current, holder }.into())
    }

    /// Applies a delta to the catalog and queues it for the journal.
    pub(crate) fn record(
        &mut self,
        caller: &Caller,
        now_ms: u64,
        delta: Delta,
        receipt: impl Fn(&RequestKey) -> Receipt,
    ) -> Result<()> {
        self.record_step(caller, now_ms, (delta, Step::Do), receipt)
    }

    fn record_step(
        &mut self,
        caller: &Caller,
        now_ms: u64,
        (delta, step): (Delta, Step),
        receipt: impl Fn(&RequestKey) -> Receipt,
    ) -> Result<()> {
        let origin = (&caller.actor, now_ms, self.position + 1);
        let pending = self.last_operations.prepare(&self.catalog, &delta, origin, step);
        let events = self.catalog.join_delta_with_events(&delta, now_ms)?;
        self.last_operations.keep(pending);
        let request = caller.request.as_ref().map(receipt);
        if let Some(receipt) = request.clone() {
            self.receipts.keep(receipt, now_ms);
        }
        self.queue_record(caller.actor.clone(), now_ms, (delta, events), request);
        if let Some(record) = self.unsynced.last_mut() {
            record.step = step;
        }
        Ok(())
    }

    /// Returns what a mutation would do, after the same checks, without applying it.
    pub fn dry_run(&mut self, op: &Op, caller: &Caller) -> Result<Applied> {
        self.dry_run_at(op, caller, self.world.now_ms())
    }

    /// Like [`dry_run`](Self::dry_run), at another time.
    pub fn dry_run_at(&mut self, op: &Op, caller: &Caller, now_ms: u64) -> Result<Applied> {
        let clock = self.clock.clone();
        let decided = self.decide(op, caller, now_ms);
        self.clock = clock;
        decided
    }

    /// Checks a mutation against the catalog and returns its delta. The catalog stays as it is.
    pub(crate) fn decide(&mut self, op: &Op, caller: &Caller, now_ms: u64) -> Result<Applied> {
        let world = &mut self.world;
        let mut context = Context {
            actor: caller.actor.clone(),
            now_ms,
            clock: &mut self.clock,
            random: &mut || world.random(),
            branch: caller.branch.clone(),
            lease_ms: caller.lease_ms,
        };
        Ok(op.apply(&self.catalog, &mut context)?)
    }

    /// Makes everything applied so far durable, with one sync of the journal.
    ///
    /// Drop the replica after an error: memory is then ahead of the disk, and only opening the store again
    /// shows what the disk holds.
    pub fn commit(&mut self) -> Result<()> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        self.ref_sync.ensure()?;
        let before = self.unsynced[0].position - 1;
        self.events.prepare(self.journal.disk(), before, self.known_tip.as_ref())?;
        if !self.journal.accepts_version(self.journal_version()) {
            self.journal.rotate(&self.header(before)?)?;
            self.base_commit_recorded = true;
        }
        self.record_base_commits()?;
        self.note_births()?;
        self.journal.append(&self.unsynced)?;
        self.base_commit_recorded = true;
        self.unsaved.add(&self.unsynced);
        self.unsynced.clear();
        self.events.mark_durable();
        if self.events.is_full() {
            self.events.flush(self.journal.disk(), self.position, self.known_tip.clone())?;
        }
        Ok(())
    }

    /// Adds the commits that memory builds on to the queued records, the base commit last. Without a ref these
    /// can be several, and only the records name them all: another program may create the ref without them.
    fn record_base_commits(&mut self) -> Result<()> {
        let mut commits = std::mem::take(&mut self.unrecorded_heads);
        if !commits.is_empty() || !self.base_commit_recorded {
            commits.extend(self.base_commit.clone());
        }
        for (index, commit) in commits.into_iter().enumerate() {
            if index > 0 {
                self.queue_record("bd".parse()?, self.world.now_ms(), Default::default(), None);
            }
            let record = if index == 0 { self.unsynced.first_mut() } else { self.unsynced.last_mut() };
            if let Some(record) = record {
                record.base_commit = Some(commit);
            }
        }
        Ok(())
    }

    /// Records writes that lost to concurrent ones. They become durable with the next commit. If that commit
    /// never happens, opening the store finds them again.
    pub(super) fn record_conflicts(&mut self, conflicts: Vec<Conflict>) -> Result<()> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let delta = Delta { conflicts, ..Delta::default() };
        let at_ms = self.world.now_ms();
        let events = self.catalog.join_delta_with_events(&delta, at_ms)?;
        self.queue_record("bd".parse()?, at_ms, (delta, events), None);
        Ok(())
    }

    /// Records a claim that lost on the remote as a conflict, so that its holder can find it.
    pub(crate) fn record_lost_claim(
        &mut self,
        lineage: &Lineage,
        holder: Option<&Actor>,
        lost: Mark,
        won: Mark,
    ) -> Result<()> {
        let value = holder.map_or(serde_json::Value::Null, |holder| holder.as_str().into());
        let (bead, field) = (lineage.clone(), Field::Assignee);
        self.record_conflicts(vec![Conflict { bead, field, value, lost, won, dismissed: None }])
    }

    /// Queues a record of what the catalog took, for the next commit, and its events for watchers.
    pub(crate) fn queue_record(
        &mut self,
        by: Actor,
        at_ms: u64,
        (delta, events): (Delta, Vec<Event>),
        request: Option<Receipt>,
    ) {
        self.begin_events();
        self.position += 1;
        let position = self.position;
        if !delta.is_empty() {
            self.changes.note(&by, &events);
        }
        self.events.push(position, events);
        self.unsynced.push(Record { position, at_ms, by, delta, request, step: Step::Do, base_commit: None });
    }
}
