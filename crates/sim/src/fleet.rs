//! Many machines that share one remote, in virtual time. Measures how long a write takes to reach every
//! machine, how many pushes lose their race, and whether any machine starves. Replicas and sync loop are the
//! real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use beads_core::op::Create;
use beads_core::{Lineage, Op};
use beads_store::{
    Caller, CommitId, Error, MAX_ROUNDS, Pace, PushBudget, Pushed, Remote, Replica, Repository, Result,
};

use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::repository::SimRepository;
use crate::timeline::Timeline;
use crate::world::SimWorld;

const START_MS: u64 = 1_700_000_000_000;

/// A machine that wrote within this time counts as active, as in the daemon.
pub(crate) const ACTIVE_MS: u64 = 10 * 60 * 1000;

/// The machines, their workload, the latency of the remote, and the sync policy.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The seed.
    pub seed: u64,
    /// The number of machines.
    pub machines: usize,
    /// How long the machines write. Afterwards they get time to finish syncing.
    pub writing_ms: u64,
    /// The interval between two writes of a machine.
    pub write_every_ms: u64,
    /// The latency of the remote.
    pub round_trip_ms: u64,
    /// The sync policy.
    pub policy: Policy,
}

/// When a machine syncs, and how long it waits after a lost race.
#[derive(Debug, Clone)]
pub struct Policy {
    /// How long a machine waits after its last change.
    pub quiet_ms: u64,
    /// How long it waits after its first change, at most.
    pub max_delay_ms: u64,
    /// How often it checks for remote changes.
    pub interval_ms: u64,
    /// The longest pause after the first lost race in a row, and the increment for each further one.
    pub pause_ms: (i64, i64),
    /// Whether a machine backs off when many others push.
    pub paced: bool,
    /// The pause after a sync that lost all its races, and the maximum to which it doubles.
    pub retry_ms: (u64, u64),
    /// Pushes per minute shared by all machines; `None` for no limit.
    pub push_rate: Option<u32>,
}

impl Default for Policy {
    /// The daemon's defaults.
    fn default() -> Self {
        Self {
            quiet_ms: 500,
            max_delay_ms: 5_000,
            interval_ms: 60_000,
            pause_ms: (50, 50),
            paced: true,
            retry_ms: (1_000, 60_000),
            push_rate: None,
        }
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// For each write: the time from its acknowledgement until the last machine had it.
    pub everywhere_ms: Vec<u64>,
    /// For each write: the time until the remote had it.
    pub remote_ms: Vec<u64>,
    /// Successful pushes.
    pub pushes_won: u64,
    /// Pushes that lost a race.
    pub pushes_lost: u64,
    /// Syncs that lost all their races.
    pub gave_up: u64,
    /// The longest time that any machine had writes that the remote did not have.
    pub longest_unpushed_ms: u64,
    /// Writes that had not reached every machine at the end.
    pub missing: usize,
}

/// State shared by all threads. Only one of them runs at a time.
struct Shared {
    timeline: Timeline,
    remote: SimRepository,
    stats: Mutex<Stats>,
}

#[derive(Default)]
struct Stats {
    written_ms: BTreeMap<Lineage, u64>,
    known_to: BTreeMap<Lineage, usize>,
    report: Report,
}

impl Fleet {
    /// Runs the fleet.
    pub fn run(&self) -> Report {
        let mut dice = Dice::new(self.seed);
        let remote = SimRepository::new(dice.roll(), Faults::default());
        let shared = Shared { timeline: Timeline::new(self.machines), remote, stats: Mutex::default() };
        std::thread::scope(|scope| {
            for thread in 0..self.machines {
                let (shared, seed) = (&shared, dice.roll());
                scope.spawn(move || {
                    shared.timeline.enter(thread);
                    FleetMachine::new(self, shared, thread, seed).run();
                    shared.timeline.leave();
                });
            }
        });
        let mut stats = shared.stats.into_inner().unwrap_or_else(PoisonError::into_inner);
        stats.report.missing =
            stats.written_ms.keys().filter(|write| stats.known_to.get(write) != Some(&self.machines)).count();
        stats.report
    }

    /// Returns the end of the run. Machines continue to sync for a while after the last write.
    fn ends_ms(&self) -> u64 {
        let all = PushBudget::among(self.machines);
        let window_ms = self.policy.push_rate.map_or(0, |rate| millis(all.share(rate).1));
        self.writing_ms + 4 * (self.policy.interval_ms + window_ms)
    }
}

/// One machine of the fleet.
struct FleetMachine<'a> {
    fleet: &'a Fleet,
    shared: &'a Shared,
    thread: usize,
    dice: Dice,
    world: SimWorld,
    repository: SimRepository,
    replica: Replica<SimDisk, SimWorld>,
    known: BTreeSet<Lineage>,
    next_write_ms: u64,
    first_change_ms: Option<u64>,
    last_change_ms: u64,
    last_exchange_ms: u64,
    retry: Option<(u64, u64)>,
    pace: Pace,
    budget: PushBudget,
    /// The earliest time of the next exchange.
    earliest_exchange_ms: u64,
    /// Writes that the remote does not have, with their times.
    unpushed: Vec<(Lineage, u64)>,
}

impl<'a> FleetMachine<'a> {
    fn new(fleet: &'a Fleet, shared: &'a Shared, thread: usize, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let world = SimWorld::new(dice.roll(), START_MS);
        let repository = SimRepository::new(dice.roll(), Faults::default());
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let replica = Replica::open(disk, &repository, world.clone()).expect("no faults are injected");
        let next_write_ms = dice.below(fleet.write_every_ms);
        let last_exchange_ms = dice.below(fleet.policy.interval_ms);
        Self {
            fleet,
            shared,
            thread,
            dice,
            world,
            repository,
            replica,
            known: BTreeSet::new(),
            next_write_ms,
            first_change_ms: None,
            last_change_ms: 0,
            last_exchange_ms,
            retry: None,
            pace: Pace::default(),
            budget: PushBudget::default(),
            earliest_exchange_ms: 0,
            unpushed: Vec::new(),
        }
    }

    fn run(&mut self) {
        loop {
            let next = self.next_write_ms.min(self.sync_due());
            if next >= self.fleet.ends_ms() {
                return;
            }
            self.sleep_until(next);
            self.write();
            if self.sync_due() <= self.now_ms() {
                self.sync();
            }
        }
    }

    fn now_ms(&self) -> u64 {
        self.shared.timeline.now_ms()
    }

    fn sleep_until(&self, at_ms: u64) {
        let before = self.world_ms();
        self.shared.timeline.sleep_until(self.thread, at_ms);
        let passed = (START_MS + self.now_ms()).saturating_sub(before);
        self.world.jump(i64::try_from(passed).unwrap_or(0));
    }

    fn world_ms(&self) -> u64 {
        beads_store::World::now_ms(&self.world)
    }

    /// Returns when the next sync is due, by the rules of the daemon.
    fn sync_due(&self) -> u64 {
        let policy = &self.fleet.policy;
        let changed = self
            .first_change_ms
            .map(|first| (self.last_change_ms + policy.quiet_ms).min(first + policy.max_delay_ms));
        let due = changed.unwrap_or(u64::MAX).min(self.last_exchange_ms + policy.interval_ms);
        let now = Duration::from_millis(self.now_ms());
        let next_push = self.budget.next(policy.push_rate, now).filter(|_| !self.unpushed.is_empty());
        // Whatever delays pushes also delays the exchange that would push.
        let until = self.earliest_exchange_ms.max(next_push.map_or(0, millis));
        self.retry.map_or(due.max(until), |(not_before, _)| not_before)
    }

    /// Performs all writes that are due. A sync in progress does not block writes.
    fn write(&mut self) {
        let now = self.now_ms();
        while self.next_write_ms <= now && self.next_write_ms < self.fleet.writing_ms {
            let written = self.next_write_ms;
            self.next_write_ms += self.fleet.write_every_ms;
            let title = format!("work {} at {written}", self.thread);
            let op = Op::Create(Box::new(Create::titled(title.parse().expect("a title"))));
            let actor = format!("agent-{}", self.thread).parse().expect("a name");
            let caller = Caller { actor, branch: Default::default(), lease_ms: 0, request: None };
            let applied = self.replica.apply(&op, &caller).expect("no faults are injected");
            let bead = applied.bead.expect("a create makes a bead");
            self.stats(|stats| {
                stats.written_ms.insert(bead.clone(), written);
                stats.known_to.insert(bead.clone(), 1);
            });
            self.known.insert(bead.clone());
            self.unpushed.push((bead, written));
            self.first_change_ms = self.first_change_ms.or(Some(written));
            self.last_change_ms = written;
        }
        if self.next_write_ms >= self.fleet.writing_ms {
            self.next_write_ms = u64::MAX;
        }
        self.replica.commit().expect("no faults are injected");
    }

    fn sync(&mut self) {
        let checkpoint = self.replica.begin_checkpoint().expect("no faults are injected");
        let taken = self.unpushed.len();
        self.first_change_ms = None;
        let begun_ms = self.now_ms();
        let policy = &self.fleet.policy;
        let mut dice = Dice::new(self.dice.roll());
        let pause = |round: u32| {
            let (first, step) = policy.pause_ms;
            let longest = first + step * (i64::from(round) - 1);
            let pause = dice.below(u64::try_from(longest).unwrap_or(0) + 1);
            self.sleep_until(self.now_ms() + pause);
        };
        let remote = DistantRemote { machine: self };
        let synced = checkpoint.sync(&self.repository, &remote, pause);
        let (saved, exchange) = synced.expect("no faults are injected");
        self.replica.finish_checkpoint(saved, Vec::new()).expect("no faults are injected");
        self.last_exchange_ms = self.now_ms();
        if policy.paced {
            let rounds = exchange.as_ref().map_or(MAX_ROUNDS, |exchange| exchange.rounds);
            self.pace.record_exchange(rounds, self.now_ms() - begun_ms);
            self.earliest_exchange_ms = self.now_ms() + self.pace.pause_ms(self.dice.roll());
        }
        let active_since_ms = self.world_ms().saturating_sub(ACTIVE_MS);
        self.budget.machines = self.replica.catalog().active_replicas(active_since_ms).max(1);
        match exchange {
            Ok(exchange) => {
                if exchange.pushed {
                    self.budget.record_push(Duration::from_millis(self.now_ms()));
                }
                self.retry = None;
                self.pushed(taken);
            }
            Err(Error::Contention(_)) => {
                let (first, last) = policy.retry_ms;
                let longer = self.retry.map_or(first, |(_, pause)| (pause * 2).min(last));
                // The remote works. A machine that lost so often retries soon.
                let pause = if policy.paced { self.dice.below(first) } else { longer };
                self.retry = Some((self.now_ms() + pause, pause));
                self.stats(|stats| stats.report.gave_up += 1);
            }
            Err(error) => panic!("no faults are injected: {error}"),
        }
        self.record_arrivals();
    }

    fn pushed(&mut self, count: usize) {
        let now = self.now_ms();
        let arrived: Vec<u64> = self.unpushed.drain(..count).map(|(_, written)| now - written).collect();
        self.stats(|stats| {
            let longest = arrived.iter().copied().max().unwrap_or(0);
            stats.report.longest_unpushed_ms = stats.report.longest_unpushed_ms.max(longest);
            stats.report.remote_ms.extend(arrived);
        });
    }

    /// Records which writes arrived here, and which of them are now everywhere.
    fn record_arrivals(&mut self) {
        let now = self.now_ms();
        let here = self.replica.catalog().state().beads().keys();
        let fresh: Vec<Lineage> = here.filter(|bead| !self.known.contains(*bead)).cloned().collect();
        self.known.extend(fresh.iter().cloned());
        let (machines, steady_ms) = (self.fleet.machines, self.fleet.writing_ms * 2 / 3);
        self.stats(|stats| {
            for bead in fresh {
                let known = stats.known_to.entry(bead.clone()).or_default();
                *known += 1;
                if *known == machines {
                    let written = stats.written_ms.get(&bead).copied().unwrap_or(now);
                    // The last writes meet an idle fleet, and would only measure the polling interval.
                    if written < steady_ms {
                        stats.report.everywhere_ms.push(now - written);
                    }
                }
            }
        });
    }

    fn stats<T>(&self, record: impl FnOnce(&mut Stats) -> T) -> T {
        record(&mut self.shared.stats.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The remote, with latency.
struct DistantRemote<'a, 'b> {
    machine: &'b FleetMachine<'a>,
}

impl DistantRemote<'_, '_> {
    fn transmit(&self) {
        self.machine.sleep_until(self.machine.now_ms() + self.machine.fleet.round_trip_ms / 2);
    }
}

impl Remote for DistantRemote<'_, '_> {
    fn name(&self) -> &str {
        "far"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.transmit();
        let remote = &self.machine.shared.remote;
        let theirs = remote.tip()?;
        if let Some(theirs) = &theirs {
            self.machine.repository.receive_from(remote, theirs)?;
        }
        self.transmit();
        Ok(theirs)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.transmit();
        let remote = &self.machine.shared.remote;
        remote.receive_from(&self.machine.repository, new)?;
        let won = remote.compare_and_swap_ref(expected, new)?;
        self.machine.stats(|stats| {
            if won {
                stats.report.pushes_won += 1;
            } else {
                stats.report.pushes_lost += 1;
            }
        });
        self.transmit();
        Ok(if won { Pushed::Done } else { Pushed::Lost("the ref has moved".into()) })
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
