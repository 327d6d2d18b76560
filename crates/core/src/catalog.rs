//! A state with the indexes that queries need: dependencies in both directions, ready beads, and leases by
//! their end. Each delta updates the indexes, so the cost of a mutation depends on what it touches and not on
//! the size of the store.

mod changed_views;
mod follow;
mod index;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};

use index::Place;

use crate::planted::{Bug, is_planted};
use crate::title_index::LazyTitles;
use crate::{
    Bead, BeadId, Delta, EdgeKey, EdgeKind, Lineage, Priority, Result, SharedBead, State, Status, Touched,
    Word, words,
};

/// The order in which work is handed out. Epics with open children come last.
pub type QueueKey = (bool, Priority, Lineage);

/// A state and its indexes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    state: State,
    outgoing: BTreeSet<(Lineage, EdgeKind, Lineage)>,
    incoming: BTreeSet<(Lineage, EdgeKind, Lineage)>,
    places: BTreeMap<Lineage, Place>,
    live: BTreeSet<(Priority, Lineage)>,
    open_and_unblocked: BTreeSet<QueueKey>,
    /// Unblocked beads in progress, by the last millisecond of their lease.
    leases: BTreeMap<u64, BTreeSet<QueueKey>>,
    /// Unblocked open beads that are deferred, by the last millisecond of the deferral.
    deferrals: BTreeMap<u64, BTreeSet<QueueKey>>,
    pub(crate) titles: LazyTitles,
}

impl Catalog {
    /// Returns the state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Merges a delta into the state and updates the indexes. See [`State::join_delta`].
    pub fn join_delta(&mut self, delta: &Delta) -> Result<Touched> {
        let touched = self.state.join_delta(delta)?;
        if !delta.settings.is_empty() {
            // The meaning of custom words may have changed.
            *self = Self::from(std::mem::take(&mut self.state));
            return Ok(touched);
        }
        if !touched.edges.is_empty() && is_planted(Bug::IndexDrifts) {
            return Ok(touched);
        }
        self.refresh(&touched);
        Ok(touched)
    }

    /// Merges the state of another replica and updates the indexes. See [`State::join`].
    pub fn join(&mut self, other: &State) -> Touched {
        let settings = self.state.settings().clone();
        let touched = self.state.join(other);
        if settings == *self.state.settings() {
            self.refresh(&touched);
        } else {
            *self = Self::from(std::mem::take(&mut self.state));
        }
        touched
    }

    /// Reverts changes to the state and updates the indexes of what they touched.
    pub(crate) fn restore(&mut self, touched: &Touched, undo: impl FnOnce(&mut State)) {
        undo(&mut self.state);
        self.refresh(touched);
    }

    /// Adds what the archive has of beads that were joined with hollow ones. See [`State::heal`].
    pub fn heal(&mut self, archive: &State) {
        let touched = Touched { beads: self.state.unhealed.clone(), ..Touched::default() };
        self.state.heal(archive);
        self.refresh(&touched);
    }

    /// Forgets that beads may lack something that the archive has. See [`State::note_healed`].
    pub fn note_healed(&mut self, beads: &BTreeSet<Lineage>) {
        self.state.note_healed(beads);
    }

    /// Drops the content of archived beads that the archive has. See [`State::hollow_out`]. No index knows the
    /// content of a bead that is not live.
    pub fn hollow_out(&mut self, archive: &State) -> usize {
        self.state.hollow_out(archive)
    }

    /// Returns the bead with this lineage, live or deleted.
    pub fn bead(&self, lineage: &Lineage) -> Option<&SharedBead> {
        self.state.bead(lineage)
    }

    /// Returns the bead with this lineage unless it is deleted.
    pub fn live_bead(&self, lineage: &Lineage) -> Option<&SharedBead> {
        self.bead(lineage).filter(|bead| !bead.is_deleted())
    }

    /// Returns the current id of a bead.
    pub fn id_of<'a>(&'a self, lineage: &'a Lineage) -> &'a BeadId {
        self.state.names().id_of(lineage)
    }

    /// Returns the current ids of beads that were created with `id` and lost it to another bead.
    pub fn remapped(&self, id: &BeadId) -> Vec<BeadId> {
        let displaced = self.state.names().vacated().get(id);
        displaced.into_iter().flatten().map(|lineage| self.id_of(lineage).clone()).collect()
    }

    /// Returns all live beads, by priority and then oldest first.
    pub fn live(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.live.iter().filter_map(|(_, lineage)| Some((lineage, self.bead(lineage)?)))
    }

    /// Returns all live beads, oldest first. Much faster than [`live`](Self::live), which has to find each of them.
    pub fn by_age(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.state.beads().iter().filter(|(_, bead)| !bead.is_deleted())
    }

    /// Returns all live beads except memories, oldest first.
    pub fn work_by_age(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.by_age().filter(|(_, bead)| !bead.is_memory())
    }

    /// Returns all live beads except memories, in the order of [`live`](Self::live).
    pub fn work(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.live().filter(|(_, bead)| !bead.is_memory())
    }

    /// Returns the number of live beads.
    pub fn live_count(&self) -> usize {
        self.live.len()
    }

    /// Returns all deleted beads. Archived beads are not deleted.
    pub fn deleted(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.state.beads().iter().filter(|(_, bead)| bead.is_deleted() && !bead.is_archived())
    }

    /// Returns whether a bead is deleted or unknown. An edge to an archived bead is one to a closed bead.
    pub(crate) fn is_gone(&self, lineage: &Lineage) -> bool {
        self.bead(lineage).is_none_or(|bead| bead.is_deleted() && !bead.is_archived())
    }

    /// Returns the open and unblocked beads in queue order.
    pub fn open_and_unblocked(&self) -> impl Iterator<Item = &QueueKey> {
        self.open_and_unblocked.iter()
    }

    /// Returns the unblocked beads in progress by the last millisecond of their lease. They are ready after
    /// that.
    pub fn leases(&self) -> &BTreeMap<u64, BTreeSet<QueueKey>> {
        &self.leases
    }

    /// Returns the unblocked open beads that are deferred, by the last millisecond of the deferral.
    pub fn deferrals(&self) -> &BTreeMap<u64, BTreeSet<QueueKey>> {
        &self.deferrals
    }

    /// Returns the present edges of a kind.
    pub(crate) fn edges_of(&self, kind: EdgeKind) -> impl Iterator<Item = (&Lineage, &Lineage)> {
        self.outgoing.iter().filter(move |(_, found, _)| *found == kind).map(|(from, _, to)| (from, to))
    }

    /// Returns the targets of the present edges that start at a bead.
    pub fn targets<'a>(&'a self, from: &'a Lineage, kind: EdgeKind) -> impl Iterator<Item = &'a Lineage> {
        neighbours(&self.outgoing, from, kind)
    }

    /// Returns the sources of the present edges that lead to a bead.
    pub fn sources<'a>(&'a self, to: &'a Lineage, kind: EdgeKind) -> impl Iterator<Item = &'a Lineage> {
        neighbours(&self.incoming, to, kind)
    }

    /// Returns the live, unfinished beads that block `lineage`. A deleted blocker does not block.
    pub fn open_blockers<'a>(&'a self, lineage: &'a Lineage) -> impl Iterator<Item = &'a Lineage> {
        self.targets(lineage, EdgeKind::Blocks).filter(|blocker| self.is_unfinished(blocker))
    }

    /// Returns the live, unfinished beads whose only open blocker is `blocker`.
    pub fn waiting_only_for(&self, blocker: &Lineage) -> Vec<Lineage> {
        self.sources(blocker, EdgeKind::Blocks)
            .filter(|waiting| self.is_unfinished(waiting))
            .filter(|waiting| self.open_blockers(waiting).all(|other| other == blocker))
            .cloned()
            .collect()
    }

    /// Returns the live, unfinished children of a bead.
    pub fn open_children<'a>(&'a self, lineage: &'a Lineage) -> impl Iterator<Item = &'a Lineage> {
        self.sources(lineage, EdgeKind::Parent).filter(|child| self.is_unfinished(child))
    }

    /// Returns the live parent. A merge may leave a bead with two parents; then the edge that was added last
    /// counts.
    pub fn parent<'a>(&'a self, lineage: &'a Lineage) -> Option<&'a Lineage> {
        self.targets(lineage, EdgeKind::Parent).filter(|parent| self.live_bead(parent).is_some()).max_by_key(
            |parent| self.state.edge(&EdgeKey::new(lineage, parent, EdgeKind::Parent)).map(|e| &e.changed),
        )
    }

    /// Returns a path from `start` to `goal` along edges of one kind, if there is one.
    pub fn path(&self, start: &Lineage, goal: &Lineage, kind: EdgeKind) -> Option<Vec<Lineage>> {
        let mut came_from: BTreeMap<Lineage, Lineage> = BTreeMap::new();
        let mut frontier = vec![start.clone()];
        while let Some(here) = frontier.pop() {
            if here == *goal {
                let mut path = vec![here];
                while let Some(previous) = path.last().and_then(|last| came_from.get(last)) {
                    path.push(previous.clone());
                }
                path.reverse();
                return Some(path);
            }
            for next in self.targets(&here, kind).filter(|next| self.live_bead(next).is_some()) {
                if next != start && !came_from.contains_key(next) {
                    came_from.insert(next.clone(), here.clone());
                    frontier.push(next.clone());
                }
            }
        }
        None
    }

    /// Returns the custom word that keeps a bead from being handed out, if it has one.
    pub fn set_aside_by<'a>(&self, bead: &'a Bead) -> Option<&'a Word> {
        let status = bead.status.value.word.as_ref().filter(|word| words::sets_aside(&self.state, word));
        status.or_else(|| bead.kind.value.word.as_ref().filter(|_| bead.is_memory()))
    }

    pub(crate) fn is_unfinished(&self, lineage: &Lineage) -> bool {
        self.live_bead(lineage).is_some_and(|bead| bead.status() != Status::Closed)
    }
}

fn neighbours<'a>(
    edges: &'a BTreeSet<(Lineage, EdgeKind, Lineage)>,
    end: &'a Lineage,
    kind: EdgeKind,
) -> impl Iterator<Item = &'a Lineage> {
    let start = (end.clone(), kind, Lineage::earliest());
    edges
        .range(start..)
        .take_while(move |(from, found, _)| from == end && *found == kind)
        .map(|(_, _, to)| to)
}
