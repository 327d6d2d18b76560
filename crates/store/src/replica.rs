//! A replica: the catalog in memory, the journal on disk, and the ref in the repository. One that exists is loaded;
//! there is no half-loaded one.

use std::collections::{BTreeMap, VecDeque};

use beads_core::limits::COUNTER_STEP;
use beads_core::{
    Actor, Applied, Catalog, Clock, Conflict, Context, Delta, Line, Op, Stamp, State, concurrent_writes,
};

use crate::checkpoint::{Checkpoint, state_of};
use crate::disk::Disk;
use crate::journal::{Journal, Recovered};
use crate::repository::{CommitId, Repository};
use crate::wall::World;
use crate::{Error, Header, Receipt, Record, Result};

/// How many receipts are kept at most; the oldest go first.
const MAX_RECEIPTS: usize = 10_000;

/// Who asks for a mutation, and how.
#[derive(Debug, Clone)]
pub struct Caller {
    pub actor: Actor,
    /// The branch checked out where the caller stands.
    pub branch: Line,
    pub lease_ms: u64,
    /// Makes the mutation safe to repeat, and says how long.
    pub request: Option<(String, u64)>,
}

/// The engine of a store.
#[derive(Debug)]
pub struct Replica<D: Disk, W: World> {
    pub(crate) catalog: Catalog,
    pub(crate) clock: Clock,
    journal: Journal<D>,
    world: W,
    position: u64,
    /// Applied in memory, not yet in the journal.
    unsynced: Vec<Record>,
    receipts: BTreeMap<String, Receipt>,
    receipt_order: VecDeque<String>,
    /// The commit that holds everything but the journal.
    base: Option<CommitId>,
    /// The last commit whose content is in memory: the base, or what a clone brought along.
    ground: Option<CommitId>,
    /// The journal knows the ground.
    ground_noted: bool,
    unsaved: Unsaved,
    /// The part of `unsaved` that a checkpoint under way is saving.
    saving: Unsaved,
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
        let mut state = State::default();
        let mut ground = base.clone();
        if let Some(tip) = &base {
            // What is written from now on builds on this commit.
            repository.settle()?;
            state = state_of(repository, tip)?;
        } else {
            // A fresh clone has no ref of its own yet, but what it needs came along.
            let tracked = repository.tracked()?;
            for commit in &tracked {
                state.join(&state_of(repository, commit)?);
            }
            ground = tracked.first().cloned().filter(|_| tracked.len() == 1);
        }
        let (journal, recovered) = Journal::recover(disk)?;
        let conflicts = unseen_writes(repository, &recovered, ground.as_ref(), &state);
        let mut catalog = Catalog::from(state);
        for record in &recovered.records {
            catalog.take(&record.delta).map_err(|error| Error::JournalDamaged {
                file: "journal".into(),
                offset: 0,
                reason: format!("record {}: {error}", record.position),
            })?;
        }
        // A tag of its own for each opening: a copied directory then never mints the stamps of its original.
        let tag = loop {
            match (world.random() & 0xffff) as u16 {
                0 => {} // imported stamps carry 0
                tag => break tag,
            }
        };
        let clock = recovered_clock(&recovered, tag);
        let mut replica = Self {
            catalog,
            clock,
            journal,
            position: recovered.header.as_ref().map_or(0, |header| header.position),
            world,
            unsynced: Vec::new(),
            receipts: BTreeMap::new(),
            receipt_order: VecDeque::new(),
            base,
            ground_noted: recovered.ground == ground,
            ground,
            unsaved: Unsaved::default(),
            saving: Unsaved::default(),
        };
        replica.observe_stamps();
        replica.take_history(recovered);
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
        self.catalog.take(&delta)?;
        self.line_up("bd".parse()?, self.world.now_ms(), delta, None);
        Ok(())
    }

    fn line_up(&mut self, by: Actor, at_ms: u64, delta: Delta, request: Option<Receipt>) {
        self.position += 1;
        let position = self.position;
        self.unsynced.push(Record { position, at_ms, by, delta, request, ground: None });
    }

    fn take_history(&mut self, recovered: Recovered) {
        self.unsaved.add(&recovered.records);
        if let Some(last) = recovered.records.last() {
            self.position = last.position;
        }
        let carried = recovered.header.into_iter().flat_map(|header| header.receipts);
        let fresh = recovered.records.into_iter().filter_map(|record| record.request);
        for receipt in carried.chain(fresh) {
            self.keep(receipt);
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

    /// The commit that holds everything up to the last checkpoint.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    pub fn now_ms(&self) -> u64 {
        self.world.now_ms()
    }

    /// Checks and applies a mutation in memory. It must not be acknowledged before [`commit`](Self::commit).
    pub fn apply(&mut self, op: &Op, caller: &Caller) -> Result<Applied> {
        let now_ms = self.world.now_ms();
        if let Some(receipt) = self.receipt(caller, now_ms) {
            return Ok(receipt.applied());
        }
        let applied = self.decide(op, caller, now_ms)?;
        if applied.delta.is_empty() {
            return Ok(applied);
        }
        self.catalog.take(&applied.delta)?;
        let receipt = |id: &str, until_ms| Receipt::new(id.to_owned(), until_ms, &applied);
        self.record(caller, now_ms, applied.delta.clone(), receipt);
        Ok(applied)
    }

    /// What an earlier attempt of the same request was told.
    pub(crate) fn receipt(&self, caller: &Caller, now_ms: u64) -> Option<&Receipt> {
        let (id, _) = caller.request.as_ref()?;
        self.receipts.get(id).filter(|receipt| receipt.until_ms > now_ms)
    }

    /// Puts what the catalog has taken in line for the journal.
    pub(crate) fn record(
        &mut self,
        caller: &Caller,
        now_ms: u64,
        delta: Delta,
        receipt: impl Fn(&str, u64) -> Receipt,
    ) {
        let request =
            caller.request.as_ref().map(|(id, keep_ms)| receipt(id, now_ms.saturating_add(*keep_ms)));
        if let Some(receipt) = request.clone() {
            self.keep(receipt);
        }
        self.line_up(caller.actor.clone(), now_ms, delta, request);
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
        if !self.journal.is_started() {
            let position = self.unsynced[0].position - 1;
            self.journal.rotate(&self.header(position))?;
            self.ground_noted = true;
        }
        if !self.ground_noted {
            self.unsynced[0].ground.clone_from(&self.ground);
        }
        self.journal.append(&self.unsynced)?;
        self.ground_noted = true;
        self.unsaved.add(&self.unsynced);
        self.unsynced.clear();
        Ok(())
    }

    /// Sets a snapshot of everything durable aside for the ref and starts a new journal segment behind it.
    pub fn begin_checkpoint(&mut self) -> Result<Checkpoint> {
        self.commit()?;
        if self.unsaved.records > 0 {
            self.journal.rotate(&self.header(self.position))?;
            self.ground_noted = true;
        }
        self.saving = self.unsaved();
        self.unsaved = Unsaved::default();
        Ok(Checkpoint {
            state: self.catalog.state().clone(),
            begun: self.catalog.state().clone(),
            base: self.base.clone(),
            ground: self.ground.clone(),
            keep_segment: self.journal.current_segment(),
            merged: false,
        })
    }

    /// Takes note that a checkpoint was not saved: everything is still in the journal.
    pub fn abandon_checkpoint(&mut self) {
        self.unsaved = self.unsaved();
        self.saving = Unsaved::default();
    }

    /// Takes note that the ref holds a checkpoint: its part of the journal can go. What the ref had beyond our own
    /// state comes into memory only now, when it is durable.
    pub fn finish_checkpoint(&mut self, saved: crate::checkpoint::Saved) -> Result<()> {
        if let Some(theirs) = &saved.merged {
            // What was written here meanwhile may have lost against what came in.
            let conflicts = concurrent_writes(self.catalog.state(), theirs, Some(&saved.begun));
            self.catalog.join(theirs);
            self.observe_stamps();
            self.keep_conflicts(conflicts)?;
        }
        self.base = Some(saved.commit);
        if self.ground != self.base {
            self.ground.clone_from(&self.base);
            self.ground_noted = false;
        }
        self.saving = Unsaved::default();
        if self.unsaved.records > 0 && !self.ground_noted {
            // The segment to stay has records already. They must not be taken for unaware of what is trimmed now.
            if self.unsynced.is_empty() {
                self.line_up("bd".parse()?, self.world.now_ms(), Delta::default(), None);
            }
            self.commit()?;
        }
        self.journal.trim_before(saved.keep_segment)
    }

    /// Checkpoints now, in this thread. Returns whether the ref moved.
    pub fn checkpoint(&mut self, repository: &impl Repository) -> Result<bool> {
        let before = self.base.clone();
        match self.begin_checkpoint()?.save(repository) {
            Ok(saved) => self.finish_checkpoint(saved)?,
            Err(error) => {
                self.abandon_checkpoint();
                return Err(error);
            }
        }
        Ok(self.base != before)
    }

    fn header(&self, position: u64) -> Header {
        let now_ms = self.world.now_ms();
        let alive = self.receipt_order.iter().filter_map(|id| self.receipts.get(id));
        Header {
            version: 1,
            position,
            last: self.clock.last(),
            receipts: alive.filter(|receipt| receipt.until_ms > now_ms).cloned().collect(),
            ground: self.ground.clone(),
        }
    }

    fn keep(&mut self, receipt: Receipt) {
        // An id that was used again after its receipt ran out keeps its place in the order.
        if self.receipts.insert(receipt.id.clone(), receipt.clone()).is_none() {
            self.receipt_order.push_back(receipt.id);
        }
        let now_ms = self.world.now_ms();
        while let Some(oldest) = self.receipt_order.front() {
            let expired = self.receipts.get(oldest).is_none_or(|receipt| receipt.until_ms <= now_ms);
            if !expired && self.receipt_order.len() <= MAX_RECEIPTS {
                break;
            }
            let oldest = self.receipt_order.pop_front().unwrap_or_default();
            self.receipts.remove(&oldest);
        }
    }

    fn observe_stamps(&mut self) {
        let now_ms = self.world.now_ms();
        for stamp in self.catalog.state().stamps() {
            self.clock.observe(stamp, now_ms);
        }
    }
}

/// Records that lost against writes which their writer had not seen: the ref moved on while nobody watched, or a merge
/// was cut short after it had moved the ref.
fn unseen_writes(
    repository: &impl Repository,
    recovered: &Recovered,
    ground: Option<&CommitId>,
    state: &State,
) -> Vec<Conflict> {
    if recovered.records.is_empty() || recovered.ground.as_ref() == ground {
        return Vec::new();
    }
    // Ground that cannot be read any more only told which writes were concurrent.
    let Some(seen) = recovered.ground.as_ref().and_then(|commit| state_of(repository, commit).ok()) else {
        return Vec::new();
    };
    let mut ours = seen.clone();
    for record in &recovered.records {
        // What the ground lacks is in the ref, or opening fails for a better reason.
        let _ = ours.take(&record.delta);
    }
    let patches = recovered.records.iter().flat_map(|record| record.delta.beads.values());
    let own: Vec<_> = patches.flat_map(beads_core::Patch::marks).map(|(_, mark)| mark).collect();
    let mut conflicts = concurrent_writes(&ours, state, Some(&seen));
    // Of two writes of one replica the later knew the earlier.
    conflicts.retain(|conflict| !(own.contains(&&conflict.lost) && own.contains(&&conflict.won)));
    conflicts
}

/// A clock that never repeats a stamp minted here: the header knows those before the segment, the records the rest.
pub(crate) fn recovered_clock(recovered: &Recovered, tag: u16) -> Clock {
    let carried = recovered.header.as_ref().map_or(Stamp::ZERO, |header| header.last);
    let mut last = carried;
    // Imported stamps carry tag 0: they were not minted here, and may be years ahead.
    let mut minted = |stamp: Stamp| {
        if !stamp.counter().is_multiple_of(COUNTER_STEP) {
            last = last.max(stamp);
        }
    };
    for record in &recovered.records {
        for (lineage, patch) in &record.delta.beads {
            minted(lineage.at());
            patch.stamps().for_each(&mut minted);
        }
        record.delta.edges.values().for_each(|edge| minted(edge.changed.at()));
        if let Some(mark) = record.delta.prefix.as_ref().and_then(|prefix| prefix.mark.as_ref()) {
            minted(mark.at());
        }
    }
    Clock::new(last, tag)
}
