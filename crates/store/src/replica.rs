//! A replica: the catalog in memory, the journal on disk, and the ref in the repository. One that exists is loaded;
//! there is no half-loaded one.

use beads_core::op::Undo;
use beads_core::planted::{Bug, is_planted};
use beads_core::{
    Actor, Applied, Catalog, Clock, Conflict, Context, Delta, Event, Field, Line, Lineage, Mark, Op, Stamp,
    Status, concurrent_writes,
};

use crate::checkpoint::Checkpoint;
use crate::disk::Disk;
use crate::event_log::{Cursor, EventBatch, EventLog};
use crate::journal::{Journal, Recovered};
use crate::journal_copy::JournalCopy;
use crate::last_operations::LastOperations;
use crate::receipts::Receipts;
use crate::recovery::{Heads, recovered_clock, replay, state_at, unseen_writes};
use crate::repository::{CommitId, Repository};
use crate::tags::Tags;
use crate::wall::World;
use crate::{Asked, Header, Receipt, Record, Result};

/// Who asks for a mutation, and how.
#[derive(Debug, Clone)]
pub struct Caller {
    pub actor: Actor,
    /// The branch checked out where the caller stands.
    pub branch: Line,
    pub lease_ms: u64,
    /// Makes the mutation safe to repeat.
    pub request: Option<Asked>,
}

impl Caller {
    /// Whether even that nothing was to be done must stay the answer.
    pub(crate) fn is_remembered(&self) -> bool {
        self.request.as_ref().is_some_and(|asked| !asked.is_passing())
    }
}

/// The engine of a store.
#[derive(Debug)]
pub struct Replica<D: Disk, W: World> {
    pub(crate) catalog: Catalog,
    pub(crate) clock: Clock,
    pub(crate) journal: Journal<D>,
    events: EventLog<D::File>,
    world: W,
    position: u64,
    /// Applied in memory, not yet in the journal.
    unsynced: Vec<Record>,
    pub(crate) receipts: Receipts<D::File>,
    last_operations: LastOperations,
    /// The commit that holds everything but the journal.
    base: Option<CommitId>,
    /// The last commit whose content is in memory: the base, or what a clone brought along.
    ground: Option<CommitId>,
    /// The journal knows the ground.
    ground_noted: bool,
    unsaved: Unsaved,
    /// The part of `unsaved` that a checkpoint under way is saving.
    saving: Unsaved,
    /// Only where garbage collection is configured.
    tags: Option<Tags>,
    /// What the journal says about beads that garbage collection had dropped before its floor was taken back.
    skipped: Vec<String>,
    /// Commits that were saved once and that neither the ref nor the repository has any more.
    missing: Vec<CommitId>,
}

/// What the journal holds and the ref does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsaved {
    pub records: u64,
    pub oldest_ms: Option<u64>,
}

impl Unsaved {
    /// A record that only notes the ground has nothing to save.
    fn add(&mut self, records: &[Record]) {
        let mut changes = records.iter().filter(|record| !record.delta.is_empty()).peekable();
        self.oldest_ms = self.oldest_ms.or_else(|| changes.peek().map(|record| record.at_ms));
        self.records += changes.count() as u64;
    }
}

impl<D: Disk, W: World> Replica<D, W> {
    /// `decode(ref) ⊔ every record`. Either a whole replica or an error, and nothing on disk changes.
    pub fn open(disk: D, repository: &impl Repository, mut world: W) -> Result<Self> {
        let base = repository.tip()?;
        let mut ground = base.clone();
        let tracked = if base.is_none() { repository.tracked()? } else { Vec::new() };
        if base.is_some() || !tracked.is_empty() {
            // What is written from now on builds on these commits.
            repository.settle()?;
        }
        if base.is_none() {
            ground = tracked.first().cloned().filter(|_| tracked.len() == 1);
        }
        let (journal, recovered) = Journal::recover(disk)?;
        let mut events = EventLog::open(journal.disk())?;
        let mut state = state_at(repository, base.as_ref(), &events)?;
        let mut heads = Heads::new(base.as_ref(), &tracked);
        let saved = heads.join_saved(repository, &mut state, base.as_ref())?;
        let needed = heads.join_grounds(repository, &mut state, &recovered, base.as_ref())?;
        if base.is_none() {
            ground = if needed { recovered.ground.clone() } else { saved.or(ground) };
        }
        let mut conflicts = unseen_writes(repository, &recovered, &heads, &state)?;
        conflicts.append(&mut heads.conflicts);
        let mut last_operations = LastOperations::carried(recovered.header.as_ref());
        let told = (&mut events, &mut last_operations);
        let (catalog, skipped) = replay(repository, state, base.as_ref(), &recovered, told, world.now_ms())?;
        let receipts = Receipts::open(journal.disk(), world.now_ms())?;
        // A tag of its own for each opening: a copied directory then never mints the stamps of its original.
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
            base,
            ground_noted: recovered.ground == ground,
            ground,
            unsaved: Unsaved::default(),
            saving: Unsaved::default(),
            tags: None,
            skipped,
            missing: heads.missing,
        };
        replica.observe_stamps();
        replica.take_history(recovered);
        if heads.joined {
            // The ref gets it back with the next checkpoint.
            replica.unsaved.records += 1;
            replica.unsaved.oldest_ms.get_or_insert(replica.world.now_ms());
        }
        replica.keep_conflicts(conflicts)?;
        Ok(replica)
    }

    /// Writes that were overwritten without their writer knowing. They reach the disk with the next commit; should
    /// that never come, opening the store finds them again.
    fn keep_conflicts(&mut self, conflicts: Vec<Conflict>) -> Result<()> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let delta = Delta { conflicts, ..Delta::default() };
        let at_ms = self.world.now_ms();
        let events = self.catalog.take_watched(&delta, at_ms)?;
        self.line_up("bd".parse()?, at_ms, (delta, events), None);
        Ok(())
    }

    /// Keeps a claim that lost although the store had it: its holder finds it among the conflicts.
    pub fn keep_lost_claim(
        &mut self,
        lineage: &Lineage,
        holder: Option<&Actor>,
        lost: Mark,
        won: Mark,
    ) -> Result<()> {
        let value = holder.map_or(serde_json::Value::Null, |holder| holder.as_str().into());
        let (bead, field) = (lineage.clone(), Field::Assignee);
        self.keep_conflicts(vec![Conflict { bead, field, value, lost, won, dismissed: None }])
    }

    /// What the catalog has taken goes to the journal with the next commit, and to watchers.
    fn line_up(
        &mut self,
        by: Actor,
        at_ms: u64,
        (delta, events): (Delta, Vec<Event>),
        request: Option<Receipt>,
    ) {
        self.begin_events();
        self.position += 1;
        let position = self.position;
        self.events.push(position, events);
        self.unsynced.push(Record { position, at_ms, by, delta, request, ground: None });
    }

    /// There is a log of events from here on. Its name tells it from the log of another life of this store.
    fn begin_events(&mut self) {
        let world = &mut self.world;
        let log = || format!("{:08x}", world.random() & 0xffff_ffff);
        self.events.begin(log, self.position, self.base.as_ref());
    }

    fn take_history(&mut self, recovered: Recovered) {
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

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The place of the last mutation in the order of all mutations here.
    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn unsaved(&self) -> Unsaved {
        Unsaved {
            records: self.unsaved.records + self.saving.records,
            oldest_ms: self.saving.oldest_ms.or(self.unsaved.oldest_ms),
        }
    }

    /// Copies the mutations that the ref does not hold yet, to be parsed elsewhere.
    pub fn copy_unsaved(&self) -> Result<JournalCopy> {
        Ok(JournalCopy { unsynced: self.unsynced.clone(), ..self.journal.copy()? })
    }

    /// Records that were passed over when the store was opened, because they speak of beads that garbage collection had
    /// dropped everywhere.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Keeps a list of the tags drawn here from now on, as collecting garbage needs.
    pub fn keep_tags(&mut self) {
        if self.tags.is_none() {
            self.tags = Some(Tags::load(self.journal.disk(), self.catalog.state()));
        }
    }

    /// When another replica last made a bead, by its own clock; `None` in a store that only this replica wrote.
    pub fn newest_foreign_ms(&mut self) -> Option<u64> {
        self.keep_tags();
        let tag = self.clock.tag();
        let tags = self.tags.as_ref()?;
        tags.newest_foreign_ms(self.catalog.state(), tag)
    }

    /// The number of the journal's segment and of the last change in it. Both only grow.
    pub fn journal_end(&self) -> (u64, u64) {
        (self.journal.current_segment(), self.position - self.unsynced.len() as u64)
    }

    /// Whether the journal on disk still ends where this replica left it. `None` when this process may open no more files, or
    /// has no memory, to find out.
    pub fn journal_is_intact(&self) -> Option<bool> {
        let journaled = self.position - self.unsynced.len() as u64;
        match self.journal.tail() {
            Ok(tail) => Some(tail.is_none_or(|tail| tail == journaled)),
            Err(error) if error.is_lack_of_resources() => None,
            Err(_) => Some(false),
        }
    }

    /// What an actor did last here, and how to undo it.
    pub fn last_operation(&self, actor: &Actor) -> Option<&Undo> {
        self.last_operations.of(actor)
    }

    /// The commit that holds everything up to the last checkpoint.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The commits that were saved once, that the ref does not contain and that cannot be read: something was lost.
    pub fn missing_commits(&self) -> &[CommitId] {
        &self.missing
    }

    pub fn now_ms(&self) -> u64 {
        self.world.now_ms()
    }

    /// Mints a stamp for a claim that is about to be made, above the bead's own stamps and those in `seen`.
    pub fn reserve_stamp(&mut self, lineage: &Lineage, seen: Option<Stamp>) -> Result<Stamp> {
        let own = self.catalog.bead(lineage).map(|bead| bead.stamps().collect::<Vec<_>>());
        let above = own.into_iter().flatten().chain(seen);
        Ok(self.clock.mint(self.world.now_ms(), above)?)
    }

    /// A name that nothing else has: 128 random bits.
    pub fn random_name(&mut self) -> String {
        format!("{:016x}{:016x}", self.world.random(), self.world.random())
    }

    /// Whether the same request was answered before.
    pub fn has_receipt(&self, caller: &Caller) -> Result<bool> {
        Ok(self.receipt(caller, self.world.now_ms())?.is_some())
    }

    /// Checks and applies a mutation in memory. It must not be acknowledged before [`commit`](Self::commit).
    pub fn apply(&mut self, op: &Op, caller: &Caller) -> Result<Applied> {
        let now_ms = self.world.now_ms();
        if let Some(receipt) = self.receipt(caller, now_ms)? {
            let applied = receipt.applied();
            self.check_claim_stands(&applied, caller, now_ms)?;
            return Ok(applied);
        }
        let applied = self.decide(op, caller, now_ms)?;
        if applied.delta.is_empty() && !caller.is_remembered() {
            return Ok(applied);
        }
        let delta = applied.delta.clone();
        self.record(caller, now_ms, delta, |asked| Receipt::new(asked, now_ms, &applied))?;
        Ok(applied)
    }

    /// What an earlier attempt of the same request was told. A request whose answer could not be remembered is refused.
    pub(crate) fn receipt(&self, caller: &Caller, now_ms: u64) -> Result<Option<&Receipt>> {
        let Some(asked) = &caller.request else { return Ok(None) };
        let found = self.receipts.find(asked, now_ms)?;
        if found.is_none() {
            self.receipts.check_room(asked, now_ms)?;
        }
        Ok(found)
    }

    /// Refuses to repeat that a claim was made when it is over by now: given back, lost, run out, or its bead closed.
    pub(crate) fn check_claim_stands(&self, applied: &Applied, caller: &Caller, now_ms: u64) -> Result<()> {
        let (Some(fence), Some(lineage)) = (applied.fence, &applied.bead) else { return Ok(()) };
        let Some(bead) = self.catalog.bead(lineage) else { return Ok(()) };
        let stands = bead.claim.fence() == Some(fence)
            && bead.claim.holder(now_ms) == Some(&caller.actor)
            && bead.status() != Status::Closed
            && bead.deletion.is_none();
        if stands {
            return Ok(());
        }
        let current = bead.claim.fence().map_or_else(|| "none".to_owned(), |fence| fence.to_string());
        let holder = bead.claim.assignee.clone();
        let id = self.catalog.id_of(lineage).clone();
        Err(beads_core::Error::StaleClaim { id, current, holder }.into())
    }

    /// Takes a delta into the catalog and puts it in line for the journal.
    pub(crate) fn record(
        &mut self,
        caller: &Caller,
        now_ms: u64,
        delta: Delta,
        receipt: impl Fn(&Asked) -> Receipt,
    ) -> Result<()> {
        let undo = Undo::of(&self.catalog, &delta, &caller.actor, now_ms);
        let events = self.catalog.take_watched(&delta, now_ms)?;
        self.last_operations.keep(&caller.actor, now_ms, undo);
        let request = caller.request.as_ref().map(receipt);
        if let Some(receipt) = request.clone() {
            self.receipts.keep(receipt, now_ms);
        }
        self.line_up(caller.actor.clone(), now_ms, (delta, events), request);
        Ok(())
    }

    /// What a mutation would do, after the very same checks, without doing it.
    pub fn rehearse(&mut self, op: &Op, caller: &Caller) -> Result<Applied> {
        let clock = self.clock.clone();
        let decided = self.decide(op, caller, self.world.now_ms());
        self.clock = clock;
        decided
    }

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

    /// Makes everything applied so far durable, with one sync. After an error this replica is of no more use: memory
    /// is ahead of the disk, and only opening the store again tells what the disk kept.
    pub fn commit(&mut self) -> Result<()> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        let before = self.unsynced[0].position - 1;
        self.events.prepare(self.journal.disk(), before, self.base.as_ref())?;
        if !self.journal.takes(self.journal_version()) {
            self.journal.rotate(&self.header(before))?;
            self.ground_noted = true;
        }
        if !self.ground_noted {
            self.unsynced[0].ground.clone_from(&self.ground);
        }
        if let Some(tags) = &mut self.tags {
            tags.note(self.clock.tag(), self.journal.disk(), self.catalog.state())?;
        }
        self.journal.append(&self.unsynced)?;
        self.ground_noted = true;
        self.unsaved.add(&self.unsynced);
        self.unsynced.clear();
        self.events.settle();
        if self.events.is_full() {
            self.events.flush(self.journal.disk(), self.position, self.base.clone())?;
        }
        Ok(())
    }

    /// What happened behind a cursor: events that `wanted` says yes to, at most `limit` of them.
    pub fn events_since(
        &self,
        since: &Cursor,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<EventBatch> {
        self.events.since(self.journal.disk(), since, limit, wanted)
    }

    /// Where the next event will be.
    pub fn cursor(&self) -> Cursor {
        self.events.cursor()
    }

    /// Sets a snapshot of everything durable aside for the ref and starts a new journal segment behind it.
    pub fn begin_checkpoint(&mut self) -> Result<Checkpoint> {
        self.commit()?;
        self.begin_events();
        // Before anything of the journal can be trimmed.
        self.receipts.write(self.journal.disk(), self.world.now_ms())?;
        if self.unsaved.records > 0 {
            self.journal.rotate(&self.header(self.position))?;
            self.ground_noted = true;
        }
        if is_planted(Bug::TrimBeforeSaved) {
            self.journal.trim_before(self.journal.current_segment())?;
        }
        self.saving = self.unsaved();
        self.unsaved = Unsaved::default();
        Ok(Checkpoint {
            state: self.catalog.state().clone(),
            begun: None,
            base: self.base.clone(),
            ground: self.ground.clone(),
            written: None,
            keep_segment: self.journal.current_segment(),
        })
    }

    /// Takes note that a checkpoint was not saved: everything is still in the journal.
    pub fn abandon_checkpoint(&mut self) {
        self.unsaved = self.unsaved();
        self.saving = Unsaved::default();
    }

    /// Takes note that the ref holds a checkpoint: its part of the journal can go. What the ref had beyond our own
    /// state comes into memory only now, when it is durable. `synced` is what to tell watchers of an exchange.
    pub fn finish_checkpoint(&mut self, saved: crate::checkpoint::Saved, synced: Vec<Event>) -> Result<()> {
        self.commit()?;
        let mut conflicts = Vec::new();
        if let Some(merged) = &saved.merged {
            // What was written here meanwhile may have lost against what came in.
            conflicts = concurrent_writes(self.catalog.state(), &merged.state, Some(&merged.begun));
            let events = self.catalog.join_watched(&merged.state, self.world.now_ms());
            self.events.push(self.position, events);
            self.observe_stamps();
        }
        self.events.push(self.position, synced);
        self.events.settle();
        self.base = Some(saved.commit);
        self.keep_conflicts(conflicts)?;
        if self.ground != self.base {
            self.ground.clone_from(&self.base);
            self.ground_noted = false;
        }
        self.saving = Unsaved::default();
        if self.unsaved.records > 0 && !self.ground_noted {
            // The segment to stay has records already. They must not be taken for unaware of what is trimmed now.
            if self.unsynced.is_empty() {
                self.line_up("bd".parse()?, self.world.now_ms(), Default::default(), None);
            }
        }
        self.commit()?;
        // Before the journal is trimmed: what it told could not be told again. A log that cannot be written now only keeps the
        // journal from being trimmed; the checkpoint itself is done.
        if self.events.flush(self.journal.disk(), self.position, self.base.clone()).is_err() {
            return Ok(());
        }
        self.journal.trim_before(saved.keep_segment)
    }

    /// Checkpoints now, in this thread. Returns whether the ref moved.
    pub fn checkpoint(&mut self, repository: &impl Repository) -> Result<bool> {
        let before = self.base.clone();
        let checkpoint = self.begin_checkpoint()?;
        self.save_checkpoint(checkpoint, repository)?;
        Ok(self.base != before)
    }

    /// Saves a checkpoint that was begun, in this thread.
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

    /// Records may have everything that the format of the store has, and programs that do not know it must refuse them.
    fn journal_version(&self) -> u32 {
        u32::try_from(self.catalog.state().format_version()).unwrap_or(u32::MAX)
    }

    fn header(&self, position: u64) -> Header {
        let now_ms = self.world.now_ms();
        Header {
            version: self.journal_version(),
            position,
            last: self.clock.last(),
            receipts: self.receipts.passing(now_ms),
            last_operations: self.last_operations.to_carry(),
            ground: self.ground.clone(),
        }
    }

    fn observe_stamps(&mut self) {
        let now_ms = self.world.now_ms();
        for stamp in self.catalog.state().stamps() {
            self.clock.observe(stamp, now_ms);
        }
    }
}
