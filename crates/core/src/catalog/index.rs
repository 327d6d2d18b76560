//! The indexes: built at once, or updated bead by bead.

use std::collections::{BTreeMap, BTreeSet};

use super::QueueKey;
use crate::{Catalog, EdgeKey, EdgeKind, Endpoint, Lineage, Priority, SharedBead, State, Status, Touched};

/// Up to this many changed beads are always indexed one by one. If more beads change at once, and they are
/// most of the store, as in an import or a first sync, the indexes are rebuilt.
const MAX_INCREMENTAL: usize = 64;

/// The position of a live bead in the sets of the catalog, so that it can be found when it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    priority: Priority,
    waits_for_children: bool,
    status: Status,
    /// Whether it has open blockers or a custom word that sets it aside.
    blocked: bool,
    /// The end of the lease of a bead in progress, or of the deferral of an open one.
    until_ms: Option<u64>,
}

impl Place {
    fn key(&self, lineage: &Lineage) -> QueueKey {
        (self.waits_for_children, self.priority, lineage.clone())
    }

    /// Returns whether the bead is open and unblocked.
    fn is_ready(&self) -> bool {
        !self.blocked && self.status == Status::Open
    }
}

/// Builds all indexes at once. This is several times faster than indexing bead by bead and has the same
/// result.
impl From<State> for Catalog {
    fn from(state: State) -> Self {
        let mut catalog = Self { state, ..Self::default() };
        let present = catalog.state.edges().iter().filter(|(_, edge)| !edge.deleted);
        let ends: Vec<_> = present
            .filter_map(|(key, _)| Some((key.from.lineage()?, key.kind, key.to.lineage()?)))
            .map(|(from, kind, to)| (from.clone(), kind, to.clone()))
            .collect();
        catalog.incoming = ends.iter().map(|(from, kind, to)| (to.clone(), *kind, from.clone())).collect();
        catalog.outgoing = ends.into_iter().collect();
        let places = catalog.places_of_all();
        // Sets are built from sorted entries. The places are in the order of the lineages, so a stable sort
        // by the first part of the key is enough, and compares no lineages.
        let mut live: Vec<_> =
            places.iter().map(|(lineage, place)| (place.priority, lineage.clone())).collect();
        live.sort_by_key(|(priority, _)| *priority);
        catalog.live = live.into_iter().collect();
        let ready = places.iter().filter(|(_, place)| place.is_ready());
        let mut ready: Vec<_> = ready.map(|(lineage, place)| place.key(lineage)).collect();
        ready.sort_by_key(|(waits, priority, _)| (*waits, *priority));
        catalog.open_and_unblocked = ready.into_iter().collect();
        places.iter().for_each(|(lineage, place)| catalog.enter_times(place, lineage));
        catalog.places = places;
        catalog
    }
}

impl Catalog {
    pub(super) fn refresh(&mut self, touched: &Touched) {
        let count = touched.beads.len();
        if count > MAX_INCREMENTAL && count * 2 > self.state.beads().len() {
            *self = Self::from(std::mem::take(&mut self.state));
            return;
        }
        for key in &touched.edges {
            self.refresh_edge(key);
        }
        let mut moved = touched.beads.clone();
        for lineage in &touched.beads {
            moved.extend(self.sources(lineage, EdgeKind::Blocks).cloned());
            moved.extend(self.targets(lineage, EdgeKind::Parent).cloned());
        }
        for key in &touched.edges {
            moved.extend([&key.from, &key.to].into_iter().filter_map(Endpoint::lineage).cloned());
        }
        for lineage in &moved {
            self.place(lineage);
        }
        if let Some(titles) = self.titles.get_mut() {
            for lineage in &touched.beads {
                let live = self.state.bead(lineage).filter(|bead| bead.deletion.is_none());
                titles.set(lineage, live.map(|bead| bead.title.value.as_str()));
            }
        }
    }

    fn refresh_edge(&mut self, key: &EdgeKey) {
        let (Endpoint::Bead(from), Endpoint::Bead(to)) = (&key.from, &key.to) else { return };
        let outgoing = (from.clone(), key.kind, to.clone());
        let incoming = (to.clone(), key.kind, from.clone());
        if self.state.edge(key).is_some_and(|edge| !edge.deleted) {
            self.outgoing.insert(outgoing);
            self.incoming.insert(incoming);
        } else {
            self.outgoing.remove(&outgoing);
            self.incoming.remove(&incoming);
        }
    }

    /// Returns the positions of all live beads. The edges are already indexed.
    fn places_of_all(&self) -> BTreeMap<Lineage, Place> {
        let place = |(lineage, bead, has_open_blocker): (&Lineage, &SharedBead, bool)| {
            (lineage.clone(), self.place_of(lineage, bead, || has_open_blocker))
        };
        self.with_blockers().map(place).collect()
    }

    /// Returns the live beads, oldest first, and whether each has an open blocker.
    pub(crate) fn with_blockers(&self) -> impl Iterator<Item = (&Lineage, &SharedBead, bool)> {
        // Edges and beads are in the same order, so no bead has to look up its edges.
        let waiting =
            self.outgoing.iter().filter(|(_, kind, to)| *kind == EdgeKind::Blocks && self.is_unfinished(to));
        let mut waiting = waiting.map(|(from, _, _)| from).peekable();
        self.by_age().map(move |(lineage, bead)| {
            while waiting.next_if(|from| *from < lineage).is_some() {}
            (lineage, bead, waiting.peek() == Some(&lineage))
        })
    }

    /// Returns the beads of [`ready_in_order`](Self::ready_in_order) that can be claimed, oldest first: epics with open
    /// children are left out.
    pub(crate) fn claimable(&self, now_ms: u64) -> impl Iterator<Item = &SharedBead> {
        // The places are those of the live beads, in the same order.
        let ready = self.places.values().zip(self.by_age()).filter(move |(place, _)| {
            let is_over = place.until_ms.is_some_and(|until_ms| until_ms < now_ms);
            let is_expired = place.status == Status::InProgress && !place.blocked && is_over;
            (place.is_ready() || is_expired) && !place.waits_for_children
        });
        let is_due = move |bead: &SharedBead| bead.defer_until.value.is_none_or(|until| until.ms() <= now_ms);
        ready.map(|(_, (_, bead))| bead).filter(move |bead| is_due(bead) && !bead.is_memory())
    }

    /// Returns the position of a live bead in the indexes.
    fn place_of(
        &self,
        lineage: &Lineage,
        bead: &SharedBead,
        has_open_blocker: impl FnOnce() -> bool,
    ) -> Place {
        let facts = bead.facts();
        Place {
            priority: facts.priority,
            waits_for_children: facts.is_epic && self.open_children(lineage).next().is_some(),
            status: facts.status,
            blocked: (facts.has_words && self.set_aside_by(bead).is_some())
                || has_open_blocker()
                || facts.has_open_question,
            until_ms: facts.until_ms,
        }
    }

    fn place(&mut self, lineage: &Lineage) {
        let has_open_blocker = || self.open_blockers(lineage).next().is_some();
        let place = self.live_bead(lineage).map(|bead| self.place_of(lineage, bead, has_open_blocker));
        if self.places.get(lineage) == place.as_ref() {
            return;
        }
        if let Some(old) = self.places.remove(lineage) {
            self.live.remove(&(old.priority, lineage.clone()));
            self.leave_queues(&old, lineage);
        }
        if let Some(new) = place {
            self.live.insert((new.priority, lineage.clone()));
            self.enter_queues(&new, lineage);
            self.places.insert(lineage.clone(), new);
        }
    }

    fn enter_queues(&mut self, place: &Place, lineage: &Lineage) {
        if place.is_ready() {
            self.open_and_unblocked.insert(place.key(lineage));
        }
        self.enter_times(place, lineage);
    }

    fn enter_times(&mut self, place: &Place, lineage: &Lineage) {
        if place.blocked {
            return;
        }
        if let (Some(until_ms), Some(ends)) = (place.until_ms, self.ends_for(place.status)) {
            ends.entry(until_ms).or_default().insert(place.key(lineage));
        }
    }

    fn leave_queues(&mut self, place: &Place, lineage: &Lineage) {
        self.open_and_unblocked.remove(&place.key(lineage));
        let (Some(until_ms), Some(ends)) = (place.until_ms, self.ends_for(place.status)) else { return };
        if let Some(same) = ends.get_mut(&until_ms) {
            same.remove(&place.key(lineage));
            if same.is_empty() {
                ends.remove(&until_ms);
            }
        }
    }

    fn ends_for(&mut self, status: Status) -> Option<&mut BTreeMap<u64, BTreeSet<QueueKey>>> {
        match status {
            Status::Open => Some(&mut self.deferrals),
            Status::InProgress => Some(&mut self.leases),
            Status::Closed => None,
        }
    }
}
