//! Replicas that play a history. They only write and exchange encoded bytes.

use std::sync::Arc;

use beads_core::{
    Bead, Clock, Deletion, Delta, Edge, EdgeKey, EdgeKind, Endpoint, Field, Lineage, Mark, Note, Patch,
    PrefixRegister, Slot, Snapshot, Stamp, State,
};
use serde_json::json;

use super::history::{History, Kind, Step};
use super::oracle::Oracle;
use super::value::{self, Group};
use super::{actor, decode, id};

const IDS: [&str; 7] = ["bd-a", "bd-a.1", "bd-b", "bd-a.11", "bd-aa", "Foreign_Id-7.x", "bd-a"];
const ACTORS: [&str; 4] = ["ann", "ann", "bob", "cy"];

pub struct Replica {
    pub state: State,
    clock: Clock,
    name: &'static str,
}

/// What happened, so that it can be replayed elsewhere.
pub enum Event {
    Written { on: usize, delta: Delta },
    Pulled { into: usize, from: usize, files: Snapshot },
    Stripped { on: usize, archive: State },
}

pub struct World {
    pub replicas: Vec<Replica>,
    pub oracle: Oracle,
    pub events: Vec<Event>,
    /// Every set of files that was ever sent.
    pub sent: Vec<Snapshot>,
    /// The content of all beads that were archived.
    pub archive: State,
    ids: Vec<&'static str>,
}

impl World {
    pub fn play(history: &History) -> Self {
        let replica = |index: usize| {
            let tag = if history.tagged { u16::try_from(index).unwrap() } else { 0 };
            Replica { state: State::default(), clock: Clock::new(Stamp::ZERO, tag), name: ACTORS[index] }
        };
        let first = usize::from(history.first_id);
        let mut world = Self {
            replicas: (0..history.replicas).map(replica).collect(),
            oracle: Oracle::default(),
            events: Vec::new(),
            sent: vec![State::default().encode()],
            archive: State::default(),
            ids: (0..usize::from(history.id_count)).map(|i| IDS[(first + i) % IDS.len()]).collect(),
        };
        for on in (0..history.replicas).filter(|on| history.seeded >> on & 1 == 1) {
            world.create(on, world.ids[on % world.ids.len()], 1, 0);
        }
        for (index, step) in history.steps.iter().enumerate() {
            let wall = if history.ticking { 2 + index as u64 / 3 } else { u64::from(step.wall) };
            world.step(step, wall, history.span);
        }
        world
    }

    fn step(&mut self, step: &Step, wall: u64, span: u8) {
        let on = usize::from(step.on) % self.replicas.len();
        let (a, c) = (usize::from(step.a % span), usize::from(step.c % span));
        match step.kind {
            Kind::Create => self.create(on, self.ids[a % self.ids.len()], wall, step.b),
            Kind::Squat => self.squat(on, a, wall),
            Kind::Prefix => self.choose_prefix(on, step.b, wall),
            Kind::Pull => {
                let from = (on + 1 + usize::from(step.b)) % self.replicas.len();
                self.pull(on, from);
            }
            Kind::Twin => self.twin(step, a),
            Kind::Unlink | Kind::Relink => self.toggle(on, a, step.kind == Kind::Unlink, wall),
            _ => {
                let Some(lineage) = self.pick(on, a) else { return };
                self.thaw(on, &lineage);
                let other = self.pick(on, c).unwrap();
                match step.kind {
                    Kind::Child => self.child(on, &lineage, wall),
                    Kind::Write => self.write(on, &lineage, field(step.b), step.c, wall),
                    Kind::Stale => self.stale_write(on, &lineage, field(step.b), step.c, wall),
                    Kind::Renew => self.renew(on, &lineage, step.c, wall),
                    Kind::Note => self.note(on, &lineage, step.b, wall),
                    Kind::Forge => self.forge(on, &lineage, step.b, wall),
                    Kind::Delete => self.delete(on, &lineage, step.b, wall),
                    Kind::Restore => self.restore(on, &lineage, wall),
                    Kind::Archive => self.archive(on, &lineage),
                    Kind::Strip => self.strip(on, &lineage),
                    Kind::Link => self.link(on, &lineage, &other, kind(step.b), wall),
                    Kind::OddLink => self.odd_link(on, &lineage, &other, step, wall),
                    _ => self.bare_edge(on, &lineage, step, wall),
                }
            }
        }
    }

    fn pick(&self, on: usize, nth: usize) -> Option<Lineage> {
        let beads = self.replicas[on].state.beads();
        beads.keys().nth(nth % beads.len().max(1)).cloned()
    }

    fn bead(&self, on: usize, lineage: &Lineage) -> &Bead {
        self.replicas[on].state.bead(lineage).unwrap()
    }

    fn mint(&mut self, on: usize, wall: u64, over: impl IntoIterator<Item = Stamp>) -> Mark {
        let replica = &mut self.replicas[on];
        Mark::new(replica.clock.mint(wall, over).unwrap(), actor(replica.name))
    }

    /// Returns a mark that is later than everything a write to this register must win over.
    fn mint_over(&mut self, on: usize, wall: u64, lineage: &Lineage, field: Option<Field>) -> Mark {
        let bead = self.bead(on, lineage);
        let deletion = bead.deletion.as_ref().map(|deletion| deletion.mark.at());
        let over: Vec<_> = field.map(|field| bead.mark(field).at()).into_iter().chain(deletion).collect();
        self.mint(on, wall, over)
    }

    /// Makes a write on a replica and logs it for the oracle.
    fn write_delta(&mut self, on: usize, delta: Delta) {
        self.oracle.log(&delta);
        self.replicas[on].state.join_delta(&delta).unwrap();
        self.events.push(Event::Written { on, delta });
    }

    fn create(&mut self, on: usize, born: &str, wall: u64, branch: u8) {
        let born = id(born);
        if self.replicas[on].state.names().is_known(&born) {
            return;
        }
        let mark = self.mint(on, wall, []);
        let lineage = Lineage::new(born, mark.at(), mark.by().clone());
        let branch = ["", "main", "dev"][usize::from(branch % 3)].parse().unwrap();
        let patch = Patch { created_on_branch: branch, ..value::birth(&mark) };
        self.write_delta(on, Delta::of_bead(lineage, patch));
    }

    /// Creates a bead with the id that a collision gave to another bead.
    fn squat(&mut self, on: usize, nth: usize, wall: u64) {
        let names = self.replicas.iter().map(|replica| replica.state.names());
        let derived: Vec<_> = names
            .flat_map(|names| names.holders().filter(|(id, lineage)| *id != lineage.birth_id()))
            .map(|(id, _)| id.clone())
            .collect();
        if let Some(born) = derived.get(nth % derived.len().max(1)) {
            self.create(on, born.as_str(), wall, 0);
        }
    }

    fn child(&mut self, on: usize, parent: &Lineage, wall: u64) {
        let names = self.replicas[on].state.names();
        let parent_id = names.id_of(parent).clone();
        let born = format!("{parent_id}.{}", names.next_child_number(&parent_id));
        if born.len() > 40 || names.is_known(&id(&born)) {
            return;
        }
        self.create(on, &born, wall, 0);
        let child = self.replicas[on].state.names().holder(&born).unwrap().clone();
        self.link(on, &child, parent, EdgeKind::Parent, wall);
    }

    fn write(&mut self, on: usize, lineage: &Lineage, field: Field, value: u8, wall: u64) {
        if field == Field::AssigneeExpires {
            return self.renew(on, lineage, value, wall);
        }
        let mark = self.mint_over(on, wall, lineage, Some(field));
        let patch = value::patch(field, mark.clone(), &value::group(field, value));
        self.write_delta(on, Delta::of_bead(lineage.clone(), patch));
        assert_eq!(self.bead(on, lineage).mark(field), &mark, "own write not visible");
        assert!(self.bead(on, lineage).is_live(), "an edit did not revive the bead");
    }

    fn stale_write(&mut self, on: usize, lineage: &Lineage, field: Field, value: u8, wall: u64) {
        let mark = Mark::new(Stamp::decode(wall, 0).unwrap(), actor(self.replicas[on].name));
        let mut patch = if field == Field::AssigneeExpires {
            renewal(self.bead(on, lineage), mark, value)
        } else {
            value::patch(field, mark, &value::group(field, value))
        };
        if let Some(claim) = patch.claim.as_mut().filter(|_| value > 3) {
            claim.expires_mark = super::mark(1, 0, "ann");
        }
        self.write_delta(on, Delta::of_bead(lineage.clone(), patch));
    }

    fn renew(&mut self, on: usize, lineage: &Lineage, value: u8, wall: u64) {
        let claimed = self.bead(on, lineage).claim.mark.at();
        let renewed = self.bead(on, lineage).claim.expires_mark.at();
        let deleted = self.bead(on, lineage).deletion.as_ref().map(|deletion| deletion.mark.at());
        let mark = self.mint(on, wall, [claimed, renewed].into_iter().chain(deleted));
        let patch = renewal(self.bead(on, lineage), mark.clone(), value);
        let was_live = self.bead(on, lineage).is_live();
        self.write_delta(on, Delta::of_bead(lineage.clone(), patch));
        assert_eq!(self.bead(on, lineage).claim.expires_mark, mark, "own renewal not visible");
        assert_eq!(self.bead(on, lineage).claim.mark.at(), claimed, "a renewal moved the fence");
        assert_eq!(self.bead(on, lineage).is_live(), was_live, "a renewal must not revive the bead");
    }

    fn note(&mut self, on: usize, lineage: &Lineage, text: u8, wall: u64) {
        let mark = self.mint_over(on, wall, lineage, None);
        let content = ["p", "q", "restored"][usize::from(text % 3)].parse().unwrap();
        let slot = (text % 2 == 1).then_some(Slot::Notes);
        let note = Note::new(lineage, &mark, content, slot);
        let patch = Patch { notes: vec![Arc::new(note)], ..Patch::default() };
        self.write_delta(on, Delta::of_bead(lineage.clone(), patch));
        assert!(self.bead(on, lineage).is_live(), "a note did not revive the bead");
    }

    fn forge(&mut self, on: usize, lineage: &Lineage, text: u8, wall: u64) {
        // Up to three digits, so that the order of stamps is not the order of their text.
        let mark = Mark::new(Stamp::decode(wall * 20, text.into()).unwrap(), actor(self.replicas[on].name));
        let content = ["p", "q", ""][usize::from(text % 3)].parse().unwrap();
        let note = Note { id: "0123456789ab".into(), ..Note::new(lineage, &mark, content, None) };
        let patch = Patch { notes: vec![Arc::new(note)], ..Patch::default() };
        self.write_delta(on, Delta::of_bead(lineage.clone(), patch));
    }

    fn restore(&mut self, on: usize, lineage: &Lineage, wall: u64) {
        if !self.bead(on, lineage).is_live() {
            self.note(on, lineage, 2, wall);
        }
    }

    fn delete(&mut self, on: usize, lineage: &Lineage, reason: u8, wall: u64) {
        if !self.bead(on, lineage).is_live() {
            return;
        }
        let over: Vec<_> = self.bead(on, lineage).stamps().collect();
        let mark = self.mint(on, wall, over);
        let reason = ["", "dup", "old\n"][usize::from(reason % 3)].parse().unwrap();
        let patch = Patch { deletion: Some(Deletion::new(mark, reason)), ..Patch::default() };
        self.write_delta(on, Delta::of_bead(lineage.clone(), patch));
        assert!(!self.bead(on, lineage).is_live(), "a deletion had no effect");
    }

    fn archive(&mut self, on: usize, lineage: &Lineage) {
        if !self.bead(on, lineage).is_live() {
            return;
        }
        let deletion = Some(self.bead(on, lineage).marker());
        self.write_delta(on, Delta::of_bead(lineage.clone(), Patch { deletion, ..Patch::default() }));
        assert!(self.bead(on, lineage).is_archived(), "archiving had no effect");
    }

    /// Archives a bead and moves the content of archived beads to the archive.
    fn strip(&mut self, on: usize, lineage: &Lineage) {
        self.archive(on, lineage);
        self.archive.join(&self.replicas[on].state.unmoved_content());
        self.replicas[on].state.hollow_out(&self.archive);
        self.events.push(Event::Stripped { on, archive: self.archive.clone() });
    }

    /// Fetches the content of a bead from the archive, as before a write.
    fn thaw(&mut self, on: usize, lineage: &Lineage) {
        if self.bead(on, lineage).is_hollow() {
            let mut content = Patch::from(self.archive.bead(lineage).unwrap().as_ref());
            // In the order of the journal.
            content.notes.sort_by_key(|note| (note.at, note.author.clone(), note.id.clone()));
            self.write_delta(on, Delta::of_bead(lineage.clone(), content));
        }
    }

    fn link(&mut self, on: usize, from: &Lineage, to: &Lineage, kind: EdgeKind, wall: u64) {
        let key = EdgeKey::new(from, to, kind);
        let present = self.replicas[on].state.edge(&key).map(|edge| (edge.changed.at(), edge.deleted));
        if present.is_none_or(|(_, deleted)| deleted) {
            let mark = self.mint(on, wall, present.map(|(at, _)| at));
            self.write_delta(on, Delta::of_edge(key, Edge::added(mark)));
        }
    }

    /// Removes a present edge, or adds a removed one again.
    fn toggle(&mut self, on: usize, nth: usize, remove: bool, wall: u64) {
        let edges = self.replicas[on].state.edges();
        let fitting: Vec<_> =
            edges.iter().filter(|(key, edge)| bound(key) && edge.deleted != remove).collect();
        let Some((key, edge)) = fitting.get(nth % fitting.len().max(1)) else { return };
        let (key, edge) = ((*key).clone(), (*edge).clone());
        self.put(on, &key, &edge, remove, wall);
    }

    fn put(&mut self, on: usize, key: &EdgeKey, edge: &Edge, deleted: bool, wall: u64) {
        let changed = self.mint(on, wall, [edge.changed.at()]);
        let created = if deleted { edge.created.clone() } else { changed.clone() };
        self.write_delta(on, Delta::of_edge(key.clone(), Edge { created, changed, deleted }));
        assert_eq!(self.replicas[on].state.edge(key).unwrap().deleted, deleted, "own edge not visible");
    }

    fn odd_link(&mut self, on: usize, from: &Lineage, to: &Lineage, step: &Step, wall: u64) {
        let by = actor(self.replicas[on].name);
        let mark = |ms: u64, counter: u8| Mark::new(Stamp::decode(ms, counter.into()).unwrap(), by.clone());
        let edge = Edge {
            created: mark(wall, step.a),
            changed: mark(wall, step.c),
            deleted: step.b.is_multiple_of(2),
        };
        self.write_delta(on, Delta::of_edge(EdgeKey::new(from, to, kind(step.b)), edge));
    }

    fn bare_edge(&mut self, on: usize, lineage: &Lineage, step: &Step, wall: u64) {
        let unknown = id(IDS[usize::from(step.b) % IDS.len()]);
        if self.replicas[on].state.names().holder(unknown.as_str()).is_some() {
            return;
        }
        let mark = self.mint(on, wall, []);
        let (bead, bare) = (Endpoint::Bead(lineage.clone()), Endpoint::Bare(unknown));
        let (from, to) = if step.c.is_multiple_of(3) { (bare, bead) } else { (bead, bare) };
        self.write_delta(on, Delta::of_edge(EdgeKey { from, to, kind: kind(step.b) }, Edge::added(mark)));
    }

    fn choose_prefix(&mut self, on: usize, which: u8, wall: u64) {
        let over = self.replicas[on].state.prefix().mark.as_ref().map(Mark::at);
        let mark = self.mint(on, wall, over);
        let prefix = ["bd", "p1", "p2"][usize::from(which % 3)].parse().unwrap();
        let prefix = Some(PrefixRegister::chosen(prefix, mark.at(), mark.by().clone()));
        self.write_delta(on, Delta { prefix, ..Delta::default() });
    }

    /// Syncs the first two replicas, then makes both write with the same actor and the same stamp.
    fn twin(&mut self, step: &Step, nth: usize) {
        self.pull(0, 1);
        self.pull(1, 0);
        let clocks = self.replicas[..2].iter().map(|replica| replica.clock.last());
        let latest = self.replicas[0].state.stamps().chain(clocks).max().unwrap();
        let wall = latest.ms() + 1;
        let Some(lineage) = self.pick(0, nth).filter(|_| step.c != 0) else {
            let born = self.ids[nth % self.ids.len()];
            self.create(0, born, wall, 1);
            return self.create(1, born, wall, 2);
        };
        for on in 0..2 {
            self.thaw(on, &lineage);
            let value = step.c + u8::try_from(on).unwrap();
            match (step.c % 7, on) {
                (1 | 2, _) => self.write(on, &lineage, field(step.b), value, wall),
                (3, 0) | (4, _) => self.delete(on, &lineage, value, wall),
                (3, _) => self.write(on, &lineage, field(step.b), value, wall),
                (5, _) => self.note(on, &lineage, value, wall),
                (6, _) => self.twin_edge(on, nth, wall),
                _ => self.choose_prefix(on, value, wall),
            }
        }
    }

    /// One replica toggles an edge; the other toggles it twice, so that one of its stamps is the same.
    fn twin_edge(&mut self, on: usize, nth: usize, wall: u64) {
        let edges = self.replicas[on].state.edges();
        let bound_edges: Vec<_> = edges.iter().filter(|(key, _)| bound(key)).collect();
        let Some((key, edge)) = bound_edges.get(nth % bound_edges.len().max(1)) else { return };
        let (key, edge) = ((*key).clone(), (*edge).clone());
        let deleted = if on == 0 { !edge.deleted } else { edge.deleted };
        self.put(on, &key, &edge, deleted, wall);
    }

    pub fn pull(&mut self, into: usize, from: usize) {
        let files = self.replicas[from].state.encode();
        self.replicas[into].state.join(&decode(&files));
        self.replicas[into].state.heal(&self.archive);
        self.sent.push(files);
        let files = self.replicas[into].state.encode();
        self.events.push(Event::Pulled { into, from, files });
    }

    /// Makes all replicas pull from each other until nothing changes.
    pub fn converge(&mut self) -> Snapshot {
        let count = self.replicas.len();
        for round in 0..2 * count {
            self.pull((round + 1) % count, round % count);
        }
        self.replicas[0].state.encode()
    }

    pub fn files(&self) -> Vec<Snapshot> {
        self.replicas.iter().map(|replica| replica.state.encode()).collect()
    }

    pub fn deltas(&self) -> impl Iterator<Item = &Delta> {
        self.events.iter().filter_map(|event| match event {
            Event::Written { delta, .. } => Some(delta),
            Event::Pulled { .. } | Event::Stripped { .. } => None,
        })
    }
}

fn field(n: u8) -> Field {
    Field::ALL[usize::from(n) % Field::ALL.len()]
}

fn kind(n: u8) -> EdgeKind {
    EdgeKind::ALL[usize::from(n) % 2 * 2]
}

fn bound(key: &EdgeKey) -> bool {
    key.from.lineage().is_some() && key.to.lineage().is_some()
}

/// Returns a renewal of the bead's claim. An unclaimed bead gets no lease.
fn renewal(bead: &Bead, mark: Mark, value: u8) -> Patch {
    let group: Group = value::group(Field::AssigneeExpires, value);
    let expires = group.get("assignee_expires").filter(|_| bead.claim.assignee.is_some());
    Patch { claim: Some(bead.claim.renewed(mark, value::typed(expires, json!(null)))), ..Patch::default() }
}
