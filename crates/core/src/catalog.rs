//! A state with the indexes that queries need: dependencies in both directions, ready beads, and leases by
//! their end. Each delta updates the indexes, so the cost of a mutation depends on what it touches and not on
//! the size of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::planted::{Bug, is_planted};
use crate::title_index::LazyTitles;
use crate::{
    Bead, BeadId, BeadType, Delta, EdgeKey, EdgeKind, Endpoint, Error, Lineage, Priority, Result, State,
    Status, Timestamp, Touched, Word, words,
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

/// Up to this many changed beads are always indexed one by one. If more beads change at once, and they are
/// most of the store, as in an import or a first sync, the indexes are rebuilt.
const MAX_INCREMENTAL: usize = 64;

/// The least number of characters that identify a bead in a mutation, not counting the prefix.
const MIN_ABBREVIATION: usize = 3;

/// What programs print for a missing value.
const NULL_NAMES: [&str; 5] = ["null", "undefined", "none", "nil", "nan"];

/// Rejects the printed form of a missing value, even if the id of a bead starts with it.
fn check_name(name: &str) -> Result<()> {
    let missing = name.trim().is_empty() || NULL_NAMES.contains(&name.to_lowercase().as_str());
    if !missing {
        return Ok(());
    }
    let message = format!("{name:?} is not an id; it looks like a missing value. Nothing was changed");
    Err(Error::invalid("id", message))
}

/// The position of a live bead in the sets above, so that it can be found when it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
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
        let all = catalog.state.beads().keys();
        let places: BTreeMap<_, _> =
            all.filter_map(|lineage| Some((lineage.clone(), catalog.place_of(lineage)?))).collect();
        catalog.live = places.iter().map(|(lineage, place)| (place.priority, lineage.clone())).collect();
        catalog.open_and_unblocked = places
            .iter()
            .filter(|(_, place)| place.is_ready())
            .map(|(lineage, place)| place.key(lineage))
            .collect();
        places.iter().for_each(|(lineage, place)| catalog.enter_times(place, lineage));
        catalog.places = places;
        catalog
    }
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

    /// Returns the bead with this lineage, live or deleted.
    pub fn bead(&self, lineage: &Lineage) -> Option<&Arc<Bead>> {
        self.state.bead(lineage)
    }

    /// Returns the bead with this lineage unless it is deleted.
    pub fn live_bead(&self, lineage: &Lineage) -> Option<&Arc<Bead>> {
        self.bead(lineage).filter(|bead| bead.deletion.is_none())
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
    pub fn live(&self) -> impl Iterator<Item = (&Lineage, &Arc<Bead>)> {
        self.live.iter().filter_map(|(_, lineage)| Some((lineage, self.bead(lineage)?)))
    }

    /// Returns all live beads except memories, in the same order.
    pub fn work(&self) -> impl Iterator<Item = (&Lineage, &Arc<Bead>)> {
        self.live().filter(|(_, bead)| !bead.is_memory())
    }

    /// Returns the number of live beads.
    pub fn live_count(&self) -> usize {
        self.live.len()
    }

    /// Returns all deleted beads.
    pub fn deleted(&self) -> impl Iterator<Item = (&Lineage, &Arc<Bead>)> {
        self.state.beads().iter().filter(|(_, bead)| bead.deletion.is_some())
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

    /// Returns the live bead with the id `name`. An unambiguous beginning of the id is enough, and the
    /// store's prefix may be omitted.
    pub fn resolve(&self, name: &str) -> Result<&Lineage> {
        let lineage = self.resolve_any(name)?;
        match self.bead(lineage).and_then(|bead| bead.deletion.as_ref()) {
            None => Ok(lineage),
            Some(deletion) => Err(Error::Deleted {
                asked: self.id_of(lineage).to_string(),
                reason: deletion.reason.non_empty().map(str::to_owned),
                remapped: self.remapped(self.id_of(lineage)),
            }),
        }
    }

    /// Like [`resolve`](Self::resolve), but also finds deleted beads, by their full id.
    pub fn resolve_any(&self, name: &str) -> Result<&Lineage> {
        let names = self.state.names();
        let prefixed = format!("{}-{name}", self.state.prefix().prefix);
        if let Some(lineage) = names.holder(name).or_else(|| names.holder(&prefixed)) {
            return Ok(lineage);
        }
        if name.is_empty() {
            return Err(Error::NotFound(name.to_owned()));
        }
        for beginning in [name, &prefixed] {
            let mut found =
                names.starting_with(beginning).filter(|(_, lineage)| self.live_bead(lineage).is_some());
            if let Some((first, lineage)) = found.next() {
                let others: Vec<_> = found.take(4).map(|(id, _)| id.clone()).collect();
                if others.is_empty() {
                    return Ok(lineage);
                }
                let candidates = [first.clone()].into_iter().chain(others).collect();
                return Err(Error::Ambiguous { asked: name.to_owned(), candidates });
            }
        }
        Err(Error::NotFound(name.to_owned()))
    }

    /// Returns the live bead that a mutation names. Stricter than [`resolve`](Self::resolve): a missing value
    /// or a typo must not change a bead whose id happens to begin with it.
    pub fn resolve_to_change(&self, name: &str) -> Result<&Lineage> {
        check_name(name)?;
        let lineage = self.resolve(name)?;
        self.check_length(name, lineage)?;
        Ok(lineage)
    }

    /// Like [`resolve_to_change`](Self::resolve_to_change), but also finds deleted beads, by their full id.
    pub fn resolve_any_to_change(&self, name: &str) -> Result<&Lineage> {
        check_name(name)?;
        let lineage = self.resolve_any(name)?;
        self.check_length(name, lineage)?;
        Ok(lineage)
    }

    /// Checks that an abbreviation is the prefix and at least one more character, or at least three
    /// characters of the part after the prefix.
    fn check_length(&self, name: &str, found: &Lineage) -> Result<()> {
        let id = self.id_of(found).as_str();
        let prefix = id.rfind('-').map_or(0, |dash| dash + 1);
        let with_prefix = id.starts_with(name) && name.len() > prefix;
        if with_prefix || (!id.starts_with(name) && name.chars().count() >= MIN_ABBREVIATION) {
            return Ok(());
        }
        let message = format!(
            "{name:?} is too short to identify the bead to change; nothing was changed. Use {} or at least \
             {MIN_ABBREVIATION} characters of the part after the prefix",
            self.id_of(found)
        );
        Err(Error::invalid("id", message))
    }

    /// Returns the custom word that keeps a bead from being handed out, if it has one.
    pub fn set_aside_by<'a>(&self, bead: &'a Bead) -> Option<&'a Word> {
        let status = bead.status.value.word.as_ref().filter(|word| words::sets_aside(&self.state, word));
        status.or_else(|| bead.kind.value.word.as_ref().filter(|_| bead.is_memory()))
    }

    pub(crate) fn is_unfinished(&self, lineage: &Lineage) -> bool {
        self.live_bead(lineage).is_some_and(|bead| bead.status() != Status::Closed)
    }

    fn refresh(&mut self, touched: &Touched) {
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
                titles.set(lineage, live.map(|bead| &bead.title.value));
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

    /// Returns the position of a bead in the indexes, or `None` if it is deleted.
    fn place_of(&self, lineage: &Lineage) -> Option<Place> {
        self.live_bead(lineage).map(|bead| Place {
            priority: bead.priority.value,
            waits_for_children: bead.kind.value.kind == BeadType::Epic
                && self.open_children(lineage).next().is_some(),
            status: bead.status(),
            blocked: self.set_aside_by(bead).is_some()
                || self.open_blockers(lineage).next().is_some()
                || bead.has_open_question(),
            until_ms: match bead.status() {
                Status::Open => bead.defer_until.value.map(Timestamp::ms),
                Status::InProgress => bead.claim.expires.map(Timestamp::ms),
                Status::Closed => None,
            },
        })
    }

    fn place(&mut self, lineage: &Lineage) {
        let place = self.place_of(lineage);
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
