//! Many machines on one hub, in virtual time. Measures how long a write takes to reach every machine and how
//! many round trips a claim needs. The replicas and what they keep of the hub are the real ones; a machine
//! makes one call at a time, as the daemon does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use beads_core::op::{ClaimBead, ClaimNext, Close, Create};
use beads_core::{Lineage, Op};
use beads_store::hub::{
    ClaimAnswer, ClaimRequest, Hub, HubCopy, HubCursor, HubSession, MAX_CANDIDATES, Member, draw_uuid,
};
use beads_store::{Caller, Replica, World};

use super::far_hub::FarHub;
use super::server::Server;
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::repository::SimRepository;
use crate::timeline::Timeline;
use crate::world::SimWorld;

const START_MS: u64 = 1_700_000_000_000;
const LEASE_MS: u64 = 2 * 60 * 60 * 1000;

/// How often a machine looks for something to do.
const TICK_MS: u64 = 10;

/// How long machines continue after the last write.
const QUIET_MS: u64 = 10_000;

/// The maximum duration of a run.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// Machines that write.
#[derive(Debug, Clone)]
pub struct HubFleet {
    /// The seed.
    pub seed: u64,
    /// The number of machines.
    pub machines: usize,
    /// How long the machines write.
    pub writing_ms: u64,
    /// The interval between two writes of a machine.
    pub write_every_ms: u64,
    /// The latency of the hub.
    pub round_trip_ms: u64,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct HubFleetReport {
    /// For each write: the time from its acknowledgement until the last machine had it.
    pub everywhere_ms: Vec<u64>,
    /// For each write: the time until the hub had it.
    pub hub_ms: Vec<u64>,
    /// Appends, each with everything that its machine wrote since the last one.
    pub appends: u64,
    /// Appends that had to be made again.
    pub repeated: u64,
    /// Writes that had not reached every machine at the end.
    pub missing: usize,
}

/// Machines that claim and close beads until none are left.
#[derive(Debug, Clone)]
pub struct HubDrain {
    /// The seed.
    pub seed: u64,
    /// The number of machines.
    pub machines: usize,
    /// The number of beads.
    pub beads: usize,
    /// The latency of the hub.
    pub round_trip_ms: u64,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct HubDrainReport {
    /// For each claim: the time from the request to the answer.
    pub claim_ms: Vec<u64>,
    /// Round trips of all claims together.
    pub round_trips: usize,
    /// Distinct beads that were claimed.
    pub distinct: usize,
    /// When the last claim was answered.
    pub ended_ms: u64,
}

/// State shared by all machines. Only one of them runs at a time.
pub(super) struct Shared {
    pub timeline: Timeline,
    pub server: Mutex<Server>,
    /// When the next notification reaches each machine.
    pub notified_ms: Mutex<Vec<Option<u64>>>,
    stats: Mutex<Stats>,
}

#[derive(Default)]
struct Stats {
    written_ms: BTreeMap<Lineage, u64>,
    known_to: BTreeMap<Lineage, usize>,
    claimed: BTreeSet<Lineage>,
    writes: HubFleetReport,
    claims: HubDrainReport,
}

impl Shared {
    fn new(seed: u64, machines: usize) -> Self {
        let mut server = Server::new(seed, START_MS, None);
        server.short_fetches = false;
        Self {
            timeline: Timeline::new(machines),
            server: Mutex::new(server),
            notified_ms: Mutex::new(vec![None; machines]),
            stats: Mutex::default(),
        }
    }

    fn stats(&self) -> MutexGuard<'_, Stats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs all machines to their ends.
    fn run(self, round_trip_ms: u64, seeds: &[u64], work: impl Fn(&mut FarMachine<'_>) + Sync) -> Stats {
        std::thread::scope(|scope| {
            for (index, seed) in seeds.iter().enumerate() {
                let (shared, work, seed) = (&self, &work, *seed);
                scope.spawn(move || {
                    shared.timeline.enter(index);
                    work(&mut FarMachine::new(shared, index, round_trip_ms, seed));
                    shared.timeline.leave();
                });
            }
        });
        self.stats.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HubFleet {
    /// Runs the fleet.
    pub fn run(&self) -> HubFleetReport {
        let mut dice = Dice::new(self.seed);
        let seeds: Vec<u64> = (0..self.machines).map(|_| dice.roll()).collect();
        let shared = Shared::new(dice.roll(), self.machines);
        let mut stats = shared.run(self.round_trip_ms, &seeds, |machine| machine.write_all(self));
        let known = |write: &&Lineage| stats.known_to.get(*write) != Some(&self.machines);
        stats.writes.missing = stats.written_ms.keys().filter(known).count();
        stats.writes
    }
}

impl HubDrain {
    /// Runs the machines until every bead is claimed.
    pub fn run(&self) -> HubDrainReport {
        let mut dice = Dice::new(self.seed);
        let seeds: Vec<u64> = (0..self.machines).map(|_| dice.roll()).collect();
        let shared = Shared::new(dice.roll(), self.machines);
        let mut stats = shared.run(self.round_trip_ms, &seeds, |machine| machine.claim_all(self));
        stats.claims.distinct = stats.claimed.len();
        stats.claims
    }
}

/// One machine.
struct FarMachine<'a> {
    shared: &'a Shared,
    index: usize,
    world: SimWorld,
    replica: Replica<SimDisk, SimWorld>,
    session: HubSession,
    hub: FarHub<'a>,
    dice: Dice,
    known: BTreeSet<Lineage>,
    next_write_ms: u64,
}

impl<'a> FarMachine<'a> {
    fn new(shared: &'a Shared, index: usize, round_trip_ms: u64, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let world = SimWorld::new(dice.roll(), START_MS);
        let repository = SimRepository::new(dice.roll(), Faults::default());
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let replica = Replica::open(disk, &repository, world.clone()).expect("no faults are injected");
        let session = HubSession::new(HubCopy::default(), draw_uuid([dice.roll(), dice.roll()]), 0);
        let hub = FarHub::new(shared, index, round_trip_ms);
        let known = BTreeSet::new();
        Self { shared, index, world, replica, session, hub, dice, known, next_write_ms: 0 }
    }

    fn now_ms(&self) -> u64 {
        self.shared.timeline.now_ms()
    }

    /// Sets the wall clock.
    fn tell_time(&self) {
        let passed = (START_MS + self.now_ms()).saturating_sub(self.world.now_ms());
        self.world.jump(i64::try_from(passed).unwrap_or(0));
    }

    fn sleep_until(&self, at_ms: u64) {
        self.shared.timeline.sleep_until(self.index, at_ms);
        self.tell_time();
    }

    fn attach(&mut self) {
        let now_ms = self.replica.now_ms();
        let (cursor, claims) = self.session.attach_arguments(self.replica.catalog().state(), now_ms);
        let member = Member { store: "store".to_owned(), replica: self.session.replica.clone() };
        let attached = self.hub.attach(&member, &cursor, &claims).expect("no faults are injected");
        self.session.attached(&mut self.replica, &attached);
        self.fetch();
        self.session.caught_up(&mut self.replica).expect("no faults are injected");
        self.commit();
    }

    fn commit(&mut self) {
        self.replica.commit().expect("no faults are injected");
    }

    fn fetch(&mut self) {
        self.shared.notified_ms.lock().unwrap_or_else(PoisonError::into_inner)[self.index] = None;
        let fetched = self.hub.fetch_since(self.session.cursor()).expect("no faults are injected");
        self.tell_time();
        let taken = self.session.take(&mut self.replica, &fetched.rows).expect("no faults are injected");
        assert_eq!(taken.refused, None, "every delta can be used");
        self.commit();
        self.record_arrivals();
    }

    fn is_notified(&self) -> bool {
        let notified = self.shared.notified_ms.lock().unwrap_or_else(PoisonError::into_inner);
        notified[self.index].is_some_and(|at_ms| at_ms <= self.now_ms())
    }

    /// Appends what the hub lacks, if there is something.
    fn append(&mut self) -> bool {
        let now_ms = self.replica.now_ms();
        let outgoing = self.session.outgoing(self.replica.catalog().state(), now_ms);
        let Some(outgoing) = outgoing.expect("no faults are injected") else { return false };
        let (seq, seen) = (self.session.next_seq(), self.session.cursor().n);
        let mut calls = 0;
        let cursor = loop {
            calls += 1;
            if let Ok(cursor) = self.hub.append(seq, seen, &outgoing.payload, &outgoing.claims) {
                break cursor;
            }
        };
        self.tell_time();
        let arrived_ms = self.now_ms() - self.hub.round_trip_ms / 2;
        let mut stats = self.shared.stats();
        stats.writes.appends += 1;
        stats.writes.repeated += calls - 1;
        for bead in outgoing.delta.beads.keys() {
            if let Some(written_ms) = stats.written_ms.get(bead).copied() {
                stats.writes.hub_ms.push(arrived_ms - written_ms);
            }
        }
        drop(stats);
        self.numbered(&outgoing.delta, &cursor);
        true
    }

    fn numbered(&mut self, delta: &beads_core::Delta, cursor: &HubCursor) {
        let is_next = cursor.n == self.session.cursor().n + 1;
        self.session.numbered(&mut self.replica, delta, cursor).expect("no faults are injected");
        if !is_next {
            self.fetch();
        }
    }

    /// Writes at a fixed rate, and exchanges.
    fn write_all(&mut self, fleet: &HubFleet) {
        self.next_write_ms = self.dice.below(fleet.write_every_ms) + 2 * fleet.round_trip_ms;
        self.attach();
        while self.now_ms() < fleet.writing_ms + QUIET_MS {
            self.write_due(fleet);
            if self.append() {
                continue;
            }
            if self.is_notified() {
                self.fetch();
                continue;
            }
            self.sleep_until(self.next_write_ms.min(self.now_ms() + TICK_MS));
        }
    }

    /// Makes all writes that are due. A call under way does not block them.
    fn write_due(&mut self, fleet: &HubFleet) {
        while self.next_write_ms <= self.now_ms() {
            let written_ms = self.next_write_ms;
            self.next_write_ms += fleet.write_every_ms;
            if self.next_write_ms >= fleet.writing_ms {
                self.next_write_ms = u64::MAX;
            }
            let bead = self.create(&format!("work {} at {written_ms}", self.index));
            let mut stats = self.shared.stats();
            stats.written_ms.insert(bead.clone(), written_ms);
            stats.known_to.insert(bead.clone(), 1);
            drop(stats);
            self.known.insert(bead);
        }
        self.commit();
    }

    fn create(&mut self, title: &str) -> Lineage {
        let op = Op::Create(Box::new(Create::titled(title.parse().expect("a title"))));
        let applied = self.replica.apply(&op, &self.caller()).expect("no faults are injected");
        applied.bead.expect("a create makes a bead")
    }

    fn caller(&self) -> Caller {
        let actor = format!("agent-{}", self.index).parse().expect("a name");
        Caller { actor, branch: Default::default(), lease_ms: LEASE_MS, request: None }
    }

    /// Records which writes arrived here, and which of them are now everywhere.
    fn record_arrivals(&mut self) {
        let (now_ms, machines) = (self.now_ms(), self.shared.notified_ms.lock().map_or(0, |all| all.len()));
        let here = self.replica.catalog().state().beads().keys();
        let fresh: Vec<Lineage> = here.filter(|bead| !self.known.contains(*bead)).cloned().collect();
        self.known.extend(fresh.iter().cloned());
        let mut stats = self.shared.stats();
        for bead in fresh {
            let known = stats.known_to.entry(bead.clone()).or_default();
            *known += 1;
            if *known == machines {
                let written_ms = stats.written_ms.get(&bead).copied().unwrap_or(now_ms);
                stats.writes.everywhere_ms.push(now_ms - written_ms);
            }
        }
    }

    /// Claims and closes beads until all are done. The first machine creates them.
    fn claim_all(&mut self, drain: &HubDrain) {
        let begin_ms = 10 * drain.round_trip_ms;
        if self.index == 0 {
            self.attach();
            (0..drain.beads).for_each(|number| drop(self.create(&format!("work {number}"))));
            self.commit();
            while self.append() {}
            self.sleep_until(begin_ms);
        } else {
            self.sleep_until(begin_ms - 2 * drain.round_trip_ms);
            self.attach();
            self.sleep_until(begin_ms);
        }
        let mut asked_ms = self.now_ms();
        while self.shared.stats().claimed.len() < drain.beads && self.now_ms() < LONGEST_MS {
            if let Some((lineage, now_ms)) = self.claim() {
                let mut stats = self.shared.stats();
                stats.claimed.insert(lineage.clone());
                stats.claims.claim_ms.push(now_ms - asked_ms);
                stats.claims.ended_ms = now_ms - begin_ms;
                drop(stats);
                let id = self.replica.catalog().id_of(&lineage).to_string();
                let close = Op::Close(Close { id, ..Close::default() });
                self.replica.apply(&close, &self.caller()).expect("no faults are injected");
                self.commit();
                asked_ms = self.now_ms();
            }
            let appended = self.append();
            if self.is_notified() {
                self.fetch();
            } else if !appended {
                self.sleep_until(self.now_ms() + TICK_MS);
            }
        }
    }

    /// Runs `claim --next` like the engine.
    fn claim(&mut self) -> Option<(Lineage, u64)> {
        let caller = self.caller();
        let mut tried = BTreeSet::new();
        loop {
            let catalog = self.replica.catalog();
            let next = ClaimNext::default();
            let found = next.candidates(catalog, &caller.actor, self.replica.now_ms(), MAX_CANDIDATES);
            let found = found.expect("no faults are injected").into_iter();
            let candidates: Vec<_> = found
                .filter(|lineage| !tried.contains(lineage) && self.session.knows(lineage))
                .filter_map(|lineage| {
                    let at = catalog.bead(&lineage)?.claim.mark.at();
                    Some((lineage, at))
                })
                .collect();
            if candidates.is_empty() {
                return None;
            }
            let id = draw_uuid([self.dice.roll(), self.dice.roll()]);
            let request = ClaimRequest {
                id,
                holder: caller.actor.clone(),
                lease_ms: LEASE_MS,
                candidates: candidates.clone(),
            };
            let seq = self.session.next_seq();
            let answer =
                self.hub.claim(seq, self.session.cursor(), &request).expect("no faults are injected");
            self.tell_time();
            self.shared.stats().claims.round_trips += 1;
            match answer {
                ClaimAnswer::Granted(grant, cursor) => {
                    let id = self.replica.catalog().id_of(&grant.lineage).to_string();
                    let (at, until) = (Some(grant.fence), Some(grant.until));
                    let op = Op::Claim(ClaimBead { id, at, until, ..ClaimBead::default() });
                    self.replica.apply(&op, &caller).expect("no faults are injected");
                    self.commit();
                    let answered_ms = self.now_ms();
                    self.numbered(&grant.delta(), &cursor);
                    return Some((grant.lineage, answered_ms));
                }
                ClaimAnswer::Behind => {
                    self.shared.stats().claims.round_trips += 1;
                    self.fetch();
                }
                _ => tried.extend(candidates.into_iter().map(|(lineage, _)| lineage)),
            }
        }
    }
}
