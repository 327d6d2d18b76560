//! The replica: the catalog in memory, the journal on disk, and the sync ref in the repository.
//!
//! A `Replica` value is always fully loaded. [`Replica::open`] returns a complete replica or an error.

use beads_core::op::Undo;
use beads_core::planted::{Bug, is_planted};
use beads_core::{
    Actor, Applied, Catalog, Clock, Conflict, Context, Delta, Event, Field, Line, Lineage, Mark, Op, Stamp,
    Status, concurrent_writes,
};

use crate::changes::Changes;
use crate::checkpoint::Checkpoint;
use crate::disk::Disk;
use crate::event_log::{Cursor, EventBatch, EventLog};
use crate::event_log_copy::EventLogCopy;
use crate::journal::{Journal, Recovered};
use crate::journal_copy::JournalCopy;
use crate::last_operations::LastOperations;
use crate::receipts::Receipts;
use crate::recovery::{Heads, recovered_clock, replay, state_at, unseen_writes};
use crate::repository::{CommitId, Repository};
use crate::tags::Tags;
use crate::world::World;
use crate::{Header, Receipt, Record, RequestKey, Result};

/// Who requests a mutation, and under which conditions.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The actor that the mutation is attributed to.
    pub actor: Actor,
    /// The branch checked out in the caller's work tree.
    pub branch: Line,
    /// How long a claim made by this caller lasts.
    pub lease_ms: u64,
    /// Makes the mutation safe to repeat: a retry with the same key gets the first answer.
    pub request: Option<RequestKey>,
}

impl Caller {
    /// Returns whether the answer must be remembered even if the mutation changes nothing.
    pub(crate) fn requires_receipt(&self) -> bool {
        self.request.as_ref().is_some_and(|key| !key.is_short_lived())
    }
}

/// One copy of a store: applies mutations, makes them durable, and saves them to the sync ref.
///
/// Call [`apply`](Self::apply) for each mutation, then [`commit`](Self::commit) once to make all of them
/// durable. [`checkpoint`](Self::checkpoint) writes the state to the sync ref.
#[derive(Debug)]
pub struct Replica<D: Disk, W: World> {
    pub(crate) catalog: Catalog,
    pub(crate) clock: Clock,
    pub(crate) journal: Journal<D>,
    events: EventLog<D::File>,
    world: W,
    position: u64,
    /// Records applied in memory and not yet in the journal.
    unsynced: Vec<Record>,
    pub(crate) receipts: Receipts<D::File>,
    last_operations: LastOperations,
    /// The commit of the sync ref at the last checkpoint or opening. Only the journal holds later changes.
    known_tip: Option<CommitId>,
    /// The last commit whose content is in memory: the known tip, or a remote's commit that a clone fetched.
    base_commit: Option<CommitId>,
    /// Whether the journal records the base commit.
    base_commit_recorded: bool,
    unsaved: Unsaved,
    /// The part of `unsaved` that the running checkpoint saves.
    saving: Unsaved,
    /// What the next checkpoint reports in its commit message, and what the running one does.
    changes: Changes,
    saving_changes: Changes,
    /// `None` unless garbage collection is configured.
    tags: Option<Tags>,
    /// Journal records that were skipped on opening because garbage collection had dropped their beads.
    skipped: Vec<String>,
    /// Saved commits that the ref no longer contains and the repository can no longer read.
    missing: Vec<CommitId>,
}

/// The mutations that are in the journal but not yet on the ref.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsaved {
    /// The number of mutations.
    pub records: u64,
    /// When the oldest of them was made, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
}

impl Unsaved {
    /// Counts records. A record that only stores the base commit has nothing to save.
    fn add(&mut self, records: &[Record]) {
        let mut changes = records.iter().filter(|record| !record.delta.is_empty()).peekable();
        self.oldest_ms = self.oldest_ms.or_else(|| changes.peek().map(|record| record.at_ms));
        self.records += changes.count() as u64;
    }
}

impl<D: Disk, W: World> Replica<D, W> {
    /// Opens a store: decodes the commit of the sync ref and joins every record of the journal.
    ///
    /// Returns a complete replica or an error, and changes nothing on disk.
    pub fn open(disk: D, repository: &impl Repository, mut world: W) -> Result<Self> {
        let known_tip = repository.tip()?;
        let mut base_commit = known_tip.clone();
        let tracked = if known_tip.is_none() { repository.tracked()? } else { Vec::new() };
        if known_tip.is_some() || !tracked.is_empty() {
            // Everything written from now on builds on these commits, so they must be durable.
            repository.sync_ref()?;
        }
        if known_tip.is_none() {
            base_commit = tracked.first().cloned().filter(|_| tracked.len() == 1);
        }
        let (journal, recovered) = Journal::recover(disk)?;
        let mut events = EventLog::open(journal.disk())?;
        let mut state = state_at(repository, known_tip.as_ref(), &events)?;
        let mut heads = Heads::new(known_tip.as_ref(), &tracked);
        let saved = heads.join_saved(repository, &mut state, known_tip.as_ref())?;
        let needed = heads.join_base_commits(repository, &mut state, &recovered, known_tip.as_ref())?;
        if known_tip.is_none() {
            base_commit = if needed { recovered.base_commit.clone() } else { saved.or(base_commit) };
        }
        let mut conflicts = unseen_writes(repository, &recovered, &heads, &state)?;
        conflicts.append(&mut heads.conflicts);
        let mut last_operations = LastOperations::carried(recovered.header.as_ref());
        let replay_logs = (&mut events, &mut last_operations);
        let (catalog, skipped, changes) =
            replay(repository, state, known_tip.as_ref(), &recovered, replay_logs, world.now_ms())?;
        let receipts = Receipts::open(journal.disk(), world.now_ms())?;
        // Each opening draws its own tag, so a copied directory never mints the same stamps as its original.
        let tag = loop {
            match (world.random() & 0xffff) as u16 {
                0 => {} // imported stamps carry 0
                tag => break tag,
            }
        };
        let clock = recovered_clock(&recovered, tag, world.now_ms());
        let mut replica = Self {
            catalog,
            clock,
            journal,
            events,
            position: recovered.header.as_ref().map_or(0, |header| header.position),
            world,
            unsynced: Vec::new(),
            receipts,
            last_operations,
            known_tip,
            base_commit_recorded: recovered.base_commit == base_commit,
            base_commit,
            unsaved: Unsaved::default(),
            saving: Unsaved::default(),
            changes,
            saving_changes: Changes::default(),
            tags: None,
            skipped,
            missing: heads.missing,
        };
        replica.observe_stamps();
        replica.restore_history(recovered);
        if heads.joined {
            // The next checkpoint adds the joined commits to the ref again.
            replica.unsaved.records += 1;
            replica.unsaved.oldest_ms.get_or_insert(replica.world.now_ms());
        }
        replica.record_conflicts(conflicts)?;
        Ok(replica)
    }

    /// Records writes that lost to concurrent ones. They become durable with the next commit. If that commit
    /// never happens, opening the store finds them again.
    fn record_conflicts(&mut self, conflicts: Vec<Conflict>) -> Result<()> {
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
    fn queue_record(
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
        self.unsynced.push(Record { position, at_ms, by, delta, request, base_commit: None });
    }

    /// Starts the event log if there is none. A random name distinguishes it from logs of earlier copies of
    /// this store.
    fn begin_events(&mut self) {
        let world = &mut self.world;
        let log = || format!("{:08x}", world.random() & 0xffff_ffff);
        self.events.begin(log, self.position, self.known_tip.as_ref());
    }

    /// Restores the position, the unsaved count and the receipts from the journal.
    fn restore_history(&mut self, recovered: Recovered) {
        self.unsaved.add(&recovered.records);
        if let Some(last) = recovered.records.last() {
            self.position = last.position;
        }
        let carried = recovered.header.into_iter().flat_map(|header| header.receipts);
        let fresh = recovered.records.into_iter().filter_map(|record| record.request);
        let now_ms = self.world.now_ms();
        for receipt in carried.chain(fresh) {
            self.receipts.keep(receipt, now_ms);
        }
    }

    /// Returns the state in memory with its indexes.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the number of the last mutation made here. Mutations are numbered from 1.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns how much is in the journal but not yet on the ref.
    pub fn unsaved(&self) -> Unsaved {
        Unsaved {
            records: self.unsaved.records + self.saving.records,
            oldest_ms: self.saving.oldest_ms.or(self.unsaved.oldest_ms),
        }
    }

    /// Copies the mutations that the ref does not hold yet, to be parsed in another thread.
    pub fn copy_unsaved(&self) -> Result<JournalCopy> {
        Ok(JournalCopy { unsynced: self.unsynced.clone(), ..self.journal.copy()? })
    }

    /// Returns messages about records that were skipped on opening, because garbage collection had dropped
    /// their beads everywhere.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Starts to record the tags drawn here, which garbage collection needs.
    pub fn keep_tags(&mut self) {
        if self.tags.is_none() {
            self.tags = Some(Tags::load(self.journal.disk(), self.catalog.state()));
        }
    }

    /// Returns when another replica last created a bead, by that replica's clock, or `None` if only this
    /// replica wrote to the store.
    pub fn newest_foreign_ms(&mut self) -> Option<u64> {
        self.keep_tags();
        let tag = self.clock.tag();
        let tags = self.tags.as_ref()?;
        tags.newest_foreign_ms(self.catalog.state(), tag)
    }

    /// Returns the number of the journal's segment and of the last record in it. Both only grow.
    pub fn journal_end(&self) -> (u64, u64) {
        (self.journal.current_segment(), self.position - self.unsynced.len() as u64)
    }

    /// Returns whether the journal on disk still ends where this replica left it, or `None` if the process
    /// lacks the file descriptors or the memory to find out.
    pub fn journal_is_intact(&self) -> Option<bool> {
        let journaled = self.position - self.unsynced.len() as u64;
        match self.journal.tail() {
            Ok(tail) => Some(tail.is_none_or(|tail| tail == journaled)),
            Err(error) if error.is_lack_of_resources() => None,
            Err(_) => Some(false),
        }
    }

    /// Returns how to undo the last operation of an actor.
    pub fn last_operation(&self, actor: &Actor) -> Option<&Undo> {
        self.last_operations.of(actor)
    }

    /// Returns the commit that holds everything up to the last checkpoint.
    pub fn known_tip(&self) -> Option<&str> {
        self.known_tip.as_deref()
    }

    /// Returns commits that were saved once but are now unreadable and not part of the ref. Data was lost.
    pub fn missing_commits(&self) -> &[CommitId] {
        &self.missing
    }

    /// Returns the current time in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.world.now_ms()
    }

    /// Mints a stamp for a claim that is about to be made, later than the bead's own stamps and than `seen`.
    pub(crate) fn reserve_stamp(&mut self, lineage: &Lineage, seen: Option<Stamp>) -> Result<Stamp> {
        let own = self.catalog.bead(lineage).map(|bead| bead.stamps().collect::<Vec<_>>());
        let above = own.into_iter().flatten().chain(seen);
        Ok(self.clock.mint(self.world.now_ms(), above)?)
    }

    /// Returns a unique name made of 128 random bits.
    pub(crate) fn random_name(&mut self) -> String {
        format!("{:016x}{:016x}", self.world.random(), self.world.random())
    }

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
            self.check_claim_is_current(&applied, caller, now_ms)?;
            return Ok(applied);
        }
        let applied = self.decide(op, caller, now_ms)?;
        if applied.delta.is_empty() && !caller.requires_receipt() {
            return Ok(applied);
        }
        let delta = applied.delta.clone();
        self.record(caller, now_ms, delta, |key| Receipt::new(key, now_ms, &applied))?;
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
    pub(crate) fn check_claim_is_current(
        &self,
        applied: &Applied,
        caller: &Caller,
        now_ms: u64,
    ) -> Result<()> {
        let (Some(fence), Some(lineage)) = (applied.fence, &applied.bead) else { return Ok(()) };
        let Some(bead) = self.catalog.bead(lineage) else { return Ok(()) };
        let is_current = bead.claim.fence() == Some(fence)
            && bead.claim.holder(now_ms) == Some(&caller.actor)
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
        let undo = Undo::of(&self.catalog, &delta, &caller.actor, now_ms);
        let events = self.catalog.join_delta_with_events(&delta, now_ms)?;
        self.last_operations.keep(&caller.actor, now_ms, undo);
        let request = caller.request.as_ref().map(receipt);
        if let Some(receipt) = request.clone() {
            self.receipts.keep(receipt, now_ms);
        }
        self.queue_record(caller.actor.clone(), now_ms, (delta, events), request);
        Ok(())
    }

    /// Returns what a mutation would do, after the same checks, without applying it.
    pub fn dry_run(&mut self, op: &Op, caller: &Caller) -> Result<Applied> {
        let clock = self.clock.clone();
        let decided = self.decide(op, caller, self.world.now_ms());
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
        let before = self.unsynced[0].position - 1;
        self.events.prepare(self.journal.disk(), before, self.known_tip.as_ref())?;
        if !self.journal.accepts_version(self.journal_version()) {
            self.journal.rotate(&self.header(before))?;
            self.base_commit_recorded = true;
        }
        if !self.base_commit_recorded {
            self.unsynced[0].base_commit.clone_from(&self.base_commit);
        }
        if let Some(tags) = &mut self.tags {
            tags.note(self.clock.tag(), self.journal.disk(), self.catalog.state())?;
        }
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

    /// Returns the events after a cursor that match `wanted`, at most `limit` of them.
    pub fn events_since(
        &self,
        since: &Cursor,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<EventBatch> {
        self.events.since(self.journal.disk(), since, limit, wanted)
    }

    /// Copies the event log, to be read in another thread.
    pub fn copy_events(&self) -> EventLogCopy {
        self.events.copy()
    }

    /// Returns the cursor of the next event.
    pub fn cursor(&self) -> Cursor {
        self.events.cursor()
    }

    /// Takes a snapshot of everything durable, to be saved to the ref, and starts a new journal segment.
    ///
    /// Pass the result to [`Checkpoint::save`] or [`Checkpoint::sync`], which may run in another thread, and
    /// then call [`finish_checkpoint`](Self::finish_checkpoint) or
    /// [`abandon_checkpoint`](Self::abandon_checkpoint).
    pub fn begin_checkpoint(&mut self) -> Result<Checkpoint> {
        self.commit()?;
        self.begin_events();
        // Receipts must be durable elsewhere before the journal is trimmed.
        self.receipts.write(self.journal.disk(), self.world.now_ms())?;
        if self.unsaved.records > 0 {
            self.journal.rotate(&self.header(self.position))?;
            self.base_commit_recorded = true;
        }
        if is_planted(Bug::TrimBeforeSaved) {
            self.journal.trim_before(self.journal.current_segment())?;
        }
        self.saving = self.unsaved();
        self.unsaved = Unsaved::default();
        self.saving_changes.append(&std::mem::take(&mut self.changes));
        Ok(Checkpoint {
            message: self.saving_changes.message(),
            state: self.catalog.state().clone(),
            initial_state: None,
            known_tip: self.known_tip.clone(),
            base_commit: self.base_commit.clone(),
            written: None,
            keep_segment: self.journal.current_segment(),
        })
    }

    /// Ends a checkpoint that was not saved. All its changes are still in the journal.
    pub fn abandon_checkpoint(&mut self) {
        self.unsaved = self.unsaved();
        self.saving = Unsaved::default();
        let later = std::mem::take(&mut self.changes);
        self.changes = std::mem::take(&mut self.saving_changes);
        self.changes.append(&later);
    }

    /// Ends a checkpoint that is on the ref: merges what the ref held beyond our own state into memory, and
    /// trims the journal.
    ///
    /// Memory changes only now, when the merged state is durable. `synced` are the events that report the
    /// exchange to watchers.
    pub fn finish_checkpoint(&mut self, saved: crate::checkpoint::Saved, synced: Vec<Event>) -> Result<()> {
        self.commit()?;
        let mut conflicts = Vec::new();
        if let Some(merged) = &saved.merged {
            // Writes made here since the checkpoint began may lose to the merged ones.
            conflicts = concurrent_writes(self.catalog.state(), &merged.state, Some(&merged.initial_state));
            let events = self.catalog.join_with_events(&merged.state, self.world.now_ms());
            self.events.push(self.position, events);
            self.observe_stamps();
        }
        self.events.push(self.position, synced);
        self.events.mark_durable();
        self.known_tip = Some(saved.commit);
        self.record_conflicts(conflicts)?;
        if self.base_commit != self.known_tip {
            self.base_commit.clone_from(&self.known_tip);
            self.base_commit_recorded = false;
        }
        self.saving = Unsaved::default();
        self.saving_changes = Changes::default();
        if self.unsaved.records > 0 && !self.base_commit_recorded {
            // The remaining segment already has records. Without a recorded base commit, opening the store
            // would treat them as concurrent with the changes that are trimmed now.
            if self.unsynced.is_empty() {
                self.queue_record("bd".parse()?, self.world.now_ms(), Default::default(), None);
            }
        }
        self.commit()?;
        // The events must be written before the journal is trimmed, because they could not be derived again.
        // If the log cannot be written now, the journal is kept; the checkpoint itself is done.
        if self.events.flush(self.journal.disk(), self.position, self.known_tip.clone()).is_err() {
            return Ok(());
        }
        self.journal.trim_before(saved.keep_segment)
    }

    /// Saves a checkpoint in this thread. Returns whether the ref moved.
    pub fn checkpoint(&mut self, repository: &impl Repository) -> Result<bool> {
        let before = self.known_tip.clone();
        let checkpoint = self.begin_checkpoint()?;
        self.save_checkpoint(checkpoint, repository)?;
        Ok(self.known_tip != before)
    }

    /// Saves a checkpoint that was initial_state before, in this thread.
    pub(crate) fn save_checkpoint(
        &mut self,
        checkpoint: Checkpoint,
        repository: &impl Repository,
    ) -> Result<()> {
        match checkpoint.save(repository) {
            Ok(saved) => self.finish_checkpoint(saved, Vec::new()),
            Err(error) => {
                self.abandon_checkpoint();
                Err(error)
            }
        }
    }

    /// Returns the version for a new segment. Records may use everything in the store's format, so programs
    /// that do not know that format must refuse the segment.
    fn journal_version(&self) -> u32 {
        u32::try_from(self.catalog.state().format_version()).unwrap_or(u32::MAX)
    }

    fn header(&self, position: u64) -> Header {
        let now_ms = self.world.now_ms();
        Header {
            version: self.journal_version(),
            position,
            last: self.clock.last(),
            receipts: self.receipts.short_lived(now_ms),
            last_operations: self.last_operations.to_carry(),
            base_commit: self.base_commit.clone(),
        }
    }

    fn observe_stamps(&mut self) {
        let now_ms = self.world.now_ms();
        for stamp in self.catalog.state().stamps() {
            self.clock.observe(stamp, now_ms);
        }
    }
}
