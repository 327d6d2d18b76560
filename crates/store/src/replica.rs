//! The replica: the catalog in memory, the journal on disk, and the sync ref in the repository.
//!
//! A `Replica` value is always fully loaded. [`Replica::open`] returns a complete replica or an error.

mod apply;
mod caller;
mod checkpoints;
mod unsaved;

pub use caller::Caller;
pub use unsaved::Unsaved;

use std::sync::{Arc, Mutex};

use beads_core::op::Undo;
use beads_core::snapshot::ARCHIVE_FORMAT_VERSION;
use beads_core::{Actor, Catalog, Clock, Delta, Encoder, Event, Lineage, Stamp};

use crate::archive::{read_archive, thaw_for};
use crate::changes::Changes;
use crate::cursor::Cursor;
use crate::disk::Disk;
use crate::event_log::{EventBatch, EventLog};
use crate::event_log_copy::EventLogCopy;
use crate::hub::HUB_TAG;
use crate::journal::{Journal, Recovered};
use crate::journal_copy::JournalCopy;
use crate::last_operations::LastOperations;
use crate::receipts::Receipts;
use crate::recovery::{Heads, recovered_clock, replay, state_at, unseen_writes};
use crate::repository::{CommitId, Repository};
use crate::tags::{Opening, Tags, is_imported};
use crate::take_foreign::HubWrites;
use crate::world::World;
use crate::{Record, RefSync, Result};

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
    /// Makes the ref durable that this replica was opened at, before the first write that builds on it.
    ref_sync: RefSync,
    /// Further commits whose content is in memory and that the journal does not record yet. There are some
    /// only if the store was opened without a ref.
    unrecorded_heads: Vec<CommitId>,
    unsaved: Unsaved,
    /// The part of `unsaved` that the running checkpoint saves.
    saving: Unsaved,
    /// What the next checkpoint reports in its commit message, and what the running one does.
    changes: Changes,
    saving_changes: Changes,
    /// Encodes the states of successive checkpoints.
    encoder: Arc<Mutex<Encoder>>,
    /// The writes that went through the hub; empty without one.
    pub(crate) hub_writes: HubWrites,
    /// The tags drawn by this directory, once they were needed.
    tags: Option<Tags>,
    /// Whether the directory had been written to before this opening.
    was_used: bool,
    /// Whether beads were imported since this opening.
    imported: bool,
    /// Journal records that were skipped on opening because garbage collection had dropped their beads.
    skipped: Vec<String>,
    /// Saved commits that the ref no longer contains and the repository can no longer read.
    missing: Vec<CommitId>,
}

impl<D: Disk, W: World> Replica<D, W> {
    /// Opens a store: decodes the commit of the sync ref and joins every record of the journal.
    ///
    /// Returns a complete replica or an error, and changes nothing on disk.
    pub fn open(disk: D, repository: &impl Repository, mut world: W) -> Result<Self> {
        let known_tip = repository.tip()?;
        let mut base_commit = known_tip.clone();
        let tracked = if known_tip.is_none() { repository.tracked()? } else { Vec::new() };
        // Everything written from now on builds on these commits, so they must be durable before it.
        let is_empty = known_tip.is_none() && tracked.is_empty();
        let ref_sync = if is_empty { RefSync::done() } else { repository.sync_ref_later() };
        if known_tip.is_none() {
            base_commit = tracked.first().cloned().filter(|_| tracked.len() == 1);
        }
        let (journal, recovered) = Journal::recover(disk)?;
        let mut events = EventLog::open(journal.disk())?;
        let mut state = state_at(repository, known_tip.as_ref(), &events)?;
        if state.format_version() >= ARCHIVE_FORMAT_VERSION {
            state.note_unhealed(repository.unhealed()?);
        }
        let changed = recovered.records.iter().flat_map(|record| record.delta.beads.keys());
        thaw_for(repository, &mut state, changed)?;
        let mut heads = Heads::new(known_tip.as_ref(), &tracked);
        let saved = heads.join_saved(repository, &mut state, known_tip.as_ref())?;
        let needed = heads.join_base_commits(repository, &mut state, &recovered, known_tip.as_ref())?;
        if state.is_unhealed() {
            state.heal_for_now(&read_archive(repository)?);
        }
        if known_tip.is_none() {
            base_commit = if needed { recovered.base_commit.clone() } else { saved.or(base_commit) };
        }
        let unrecorded_heads = match &known_tip {
            Some(_) => Vec::new(),
            None => heads.besides(base_commit.as_ref(), &recovered.base_commits),
        };
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
                0 | HUB_TAG => {} // imported stamps carry 0
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
            ref_sync,
            unrecorded_heads,
            unsaved: Unsaved::default(),
            saving: Unsaved::default(),
            changes,
            saving_changes: Changes::default(),
            encoder: Arc::default(),
            hub_writes: HubWrites::default(),
            tags: None,
            was_used: recovered.header.is_some(),
            imported: false,
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

    /// Returns when another replica last created a bead, by that replica's clock, or `None` if only this
    /// replica wrote to the store.
    pub fn newest_foreign_ms(&mut self) -> Result<Option<u64>> {
        let opening = Opening { tag: self.clock.tag(), was_used: self.was_used, state: self.catalog.state() };
        let tags = load_once(&mut self.tags, self.journal.disk(), opening)?;
        Ok(tags.newest_foreign_ms(opening))
    }

    /// Remembers that a delta from an import creates beads.
    pub(crate) fn note_import(&mut self, delta: &Delta) {
        let is_new = |lineage: &&Lineage| self.catalog.bead(lineage).is_none();
        self.imported |= delta.beads.keys().filter(|lineage| is_imported(lineage)).any(|bead| is_new(&bead));
    }

    /// Records the tag of births that are about to become durable.
    fn note_births(&mut self) -> Result<()> {
        let opening = Opening { tag: self.clock.tag(), was_used: self.was_used, state: self.catalog.state() };
        let tags = load_once(&mut self.tags, self.journal.disk(), opening)?;
        let written = self.unsynced.iter().flat_map(|record| record.delta.beads.keys());
        tags.note(written, self.imported, opening, self.journal.disk())
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

    /// Returns how to undo the last operation of an actor. With `skip`, operations that can never be undone,
    /// such as notes, do not count.
    pub fn last_operation(&self, actor: &Actor, skip: bool) -> Option<&Undo> {
        self.last_operations.last(actor, skip)
    }

    /// Returns how to redo the operation that an actor undid last.
    pub fn last_undone(&self, actor: &Actor) -> Option<&Undo> {
        self.last_operations.last_undone(actor)
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

    /// Returns the time by which leases are judged: that of the hub if it is known, else the wall clock.
    pub fn lease_now_ms(&self) -> u64 {
        self.now_ms().saturating_add_signed(self.clock.leases_ahead_ms())
    }

    /// Sets how far the clock of the hub, which judges leases, is ahead of the wall clock.
    pub fn set_leases_ahead_ms(&mut self, ahead_ms: i64) {
        self.clock.set_leases_ahead_ms(ahead_ms);
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

    fn observe_stamps(&mut self) {
        let now_ms = self.world.now_ms();
        self.catalog.state().show_to(&mut self.clock, now_ms);
    }
}

fn load_once<'a>(tags: &'a mut Option<Tags>, disk: &impl Disk, opening: Opening<'_>) -> Result<&'a mut Tags> {
    let loaded = match tags.take() {
        Some(loaded) => loaded,
        None => Tags::load(disk, opening)?,
    };
    Ok(tags.insert(loaded))
}
