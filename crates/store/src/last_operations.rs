//! The last operations of each actor, so that they can be undone one after another, and redone.
use std::collections::BTreeMap;
use std::sync::OnceLock;

use beads_core::op::{Undo, undo_chain};
use beads_core::{Actor, Catalog, Delta};

use crate::record::{CarriedOperations, LastOperation, Step};
use crate::{Header, Record};

/// How many actors' operations are kept. The actor inactive for longest is dropped first.
const MAX_ACTORS: usize = 64;

/// How many operations of one actor can be undone.
const MAX_PER_ACTOR: usize = 32;

/// How many operations of all actors are kept, because every segment's header carries them. The oldest are
/// dropped first, except for each actor's newest one.
const MAX_OPERATIONS: usize = 512;

/// How many bytes of old values are kept for all actors.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The last operations of each actor. They survive a restart: the journal's records are replayed, and its
/// headers carry the operations of removed segments.
#[derive(Debug, Default)]
pub(crate) struct LastOperations {
    /// Empty until an operation is asked for or added, because most commands never need what the header carries.
    by_actor: OnceLock<BTreeMap<Actor, Stacks>>,
    /// What the header carries.
    carried: CarriedOperations,
    /// Records up to this position are covered by the header.
    carried_up_to: u64,
}

/// The operations of one actor, each list with the oldest first.
#[derive(Debug, Default)]
struct Stacks {
    done: Vec<Kept>,
    undone: Vec<Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
    position: u64,
    at_ms: u64,
    undo: Undo,
    bytes: usize,
}

/// A change to the operations of an actor, computed before the catalog takes the operation.
#[derive(Debug)]
pub(crate) struct Pending {
    by: Actor,
    step: Step,
    kept: Kept,
    /// The operations that another writer has overtaken, as indexes of the done and the undone ones.
    overtaken: (Vec<usize>, Vec<usize>),
}

impl LastOperations {
    /// Restores the operations that a header carries.
    pub(crate) fn carried(header: Option<&Header>) -> Self {
        let Some(header) = header else { return Self::default() };
        let (carried, carried_up_to) = (header.last_operations.clone(), header.position);
        Self { by_actor: OnceLock::new(), carried, carried_up_to }
    }

    fn by_actor(&self) -> &BTreeMap<Actor, Stacks> {
        self.by_actor.get_or_init(|| {
            let mut by_actor: BTreeMap<_, Stacks> = BTreeMap::new();
            for one in self.carried.parse() {
                let stacks = by_actor.entry(one.by).or_default();
                let stack = if one.undone { &mut stacks.undone } else { &mut stacks.done };
                stack.push(Kept::new(self.carried_up_to, one.at_ms, one.undo));
            }
            by_actor
        })
    }

    fn by_actor_mut(&mut self) -> &mut BTreeMap<Actor, Stacks> {
        self.by_actor();
        self.carried = CarriedOperations::default();
        self.by_actor.get_mut().expect("it was filled above")
    }

    /// Remembers a record that the catalog is about to take.
    pub(crate) fn replay(&mut self, catalog: &Catalog, record: &Record) {
        if record.position > self.carried_up_to {
            let origin = (&record.by, record.at_ms, record.position);
            let pending = self.prepare(catalog, &record.delta, origin, record.step);
            self.keep(pending);
        }
    }

    /// Returns how an operation changes its actor's list, before the catalog takes the delta. The operation is
    /// given with its actor, time and position.
    pub(crate) fn prepare(
        &self,
        catalog: &Catalog,
        delta: &Delta,
        (by, at_ms, position): (&Actor, u64, u64),
        step: Step,
    ) -> Option<Pending> {
        let kept = Kept::new(position, at_ms, Undo::of(catalog, delta, by, at_ms)?);
        let find = |stack: &[Kept]| {
            let older: Vec<&Undo> = stack.iter().map(|kept| &kept.undo).collect();
            undo_chain::overtaken(&older, &kept.undo, catalog)
        };
        let stacks = self.by_actor().get(by);
        let overtaken = stacks.map(|stacks| (find(&stacks.done), find(&stacks.undone))).unwrap_or_default();
        Some(Pending { by: by.clone(), step, kept, overtaken })
    }

    /// Remembers an actor's operation, if it can be undone.
    pub(crate) fn keep(&mut self, pending: Option<Pending>) {
        let Some(Pending { by, step, kept, overtaken }) = pending else { return };
        let stacks = self.by_actor_mut().entry(by).or_default();
        undo_chain::lose(&mut undos(&mut stacks.done), &overtaken.0);
        undo_chain::lose(&mut undos(&mut stacks.undone), &overtaken.1);
        match step {
            Step::Do if !kept.undo.counts() => undo_chain::remark(&mut undos(&mut stacks.done), &kept.undo),
            Step::Do => {
                stacks.undone.clear();
                stacks.done.push(kept);
            }
            Step::Undo => {
                stacks.done.truncate(newest_undoable(&stacks.done).unwrap_or_default());
                undo_chain::remark(&mut undos(&mut stacks.done), &kept.undo);
                stacks.undone.push(kept);
            }
            Step::Redo => {
                stacks.undone.pop();
                undo_chain::remark(&mut undos(&mut stacks.undone), &kept.undo);
                stacks.done.push(kept);
            }
        }
        for stack in [&mut stacks.done, &mut stacks.undone] {
            stack.drain(..stack.len().saturating_sub(MAX_PER_ACTOR));
        }
        self.limit();
    }

    /// Drops what is beyond the limits.
    fn limit(&mut self) {
        let by_actor = self.by_actor_mut();
        by_actor.retain(|_, stacks| stacks.newest_ms().is_some());
        if by_actor.len() > MAX_ACTORS {
            let silent = by_actor.iter().min_by_key(|(_, stacks)| stacks.newest_ms());
            silent.map(|(actor, _)| actor.clone()).map(|actor| by_actor.remove(&actor));
        }
        let sizes = by_actor.values().flat_map(|stacks| stacks.all().map(|kept| kept.bytes));
        let (mut count, mut bytes) = sizes.fold((0, 0), |(count, bytes), one| (count + 1, bytes + one));
        while count > MAX_OPERATIONS || bytes > MAX_BYTES {
            let several = by_actor.values_mut().filter(|stacks| stacks.all().count() > 1);
            let Some(stacks) = several.min_by_key(|stacks| stacks.all().map(|kept| kept.at_ms).min()) else {
                return;
            };
            bytes -= stacks.drop_oldest();
            count -= 1;
        }
    }

    /// Returns how to undo an actor's last operation. With `skip`, operations that can never be undone do not
    /// count.
    pub(crate) fn last(&self, actor: &Actor, skip: bool) -> Option<&Undo> {
        let done = &self.by_actor().get(actor)?.done;
        let index = if skip { newest_undoable(done) } else { None };
        index.map_or_else(|| done.last(), |index| done.get(index)).map(|kept| &kept.undo)
    }

    /// Returns how to redo the operation that an actor undid last.
    pub(crate) fn last_undone(&self, actor: &Actor) -> Option<&Undo> {
        self.by_actor().get(actor)?.undone.last().map(|kept| &kept.undo)
    }

    /// Returns what applying an undo means for the list of its actor.
    pub(crate) fn step(&self, actor: &Actor, undo: &Undo) -> Step {
        if self.last(actor, true) == Some(undo) {
            Step::Undo
        } else if self.last_undone(actor) == Some(undo) {
            Step::Redo
        } else {
            Step::Do
        }
    }

    /// Returns the operations up to a position, for a header that records after it follow. What an actor
    /// undid or redid after the position cannot be taken back, so nothing of that actor is carried.
    pub(crate) fn to_carry(&self, up_to: u64, following: &[Record]) -> serde_json::Result<CarriedOperations> {
        let Some(by_actor) = self.by_actor.get() else { return Ok(self.carried.clone()) };
        let mut carried = Vec::new();
        for (by, stacks) in by_actor {
            if following.iter().any(|record| record.by == *by && record.step != Step::Do) {
                continue;
            }
            let undone = stacks.undone.iter().map(|kept| (kept, true));
            let all = undone.chain(stacks.done.iter().map(|kept| (kept, false)));
            let all = all.filter(|(kept, _)| kept.position <= up_to);
            carried.extend(all.map(|(Kept { at_ms, undo, .. }, undone)| LastOperation {
                by: by.clone(),
                at_ms: *at_ms,
                undo: undo.clone(),
                undone,
            }));
        }
        CarriedOperations::new(&carried)
    }
}

impl Stacks {
    fn all(&self) -> impl Iterator<Item = &Kept> {
        self.undone.iter().chain(&self.done)
    }

    fn newest_ms(&self) -> Option<u64> {
        self.all().map(|kept| kept.at_ms).max()
    }

    /// Drops the oldest operation, and returns its size.
    fn drop_oldest(&mut self) -> usize {
        let stack =
            if self.done.len() > 1 || self.undone.is_empty() { &mut self.done } else { &mut self.undone };
        if stack.is_empty() { 0 } else { stack.remove(0).bytes }
    }
}

impl Kept {
    fn new(position: u64, at_ms: u64, undo: Undo) -> Self {
        let bytes = undo.bytes();
        Self { position, at_ms, undo, bytes }
    }
}

/// Returns the index of the newest operation that can be undone.
fn newest_undoable(stack: &[Kept]) -> Option<usize> {
    stack.iter().rposition(|kept| kept.undo.refusal().is_none())
}

fn undos(stack: &mut [Kept]) -> Vec<&mut Undo> {
    stack.iter_mut().map(|kept| &mut kept.undo).collect()
}
