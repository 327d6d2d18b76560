//! Many machines that share one remote, in virtual time: how long until a write is everywhere, how many pushes lose
//! their race, and does anyone starve? The replicas and the sync loop are the real ones.

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

/// Who takes part, how far away the remote is, and how patient everybody is.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub seed: u64,
    pub machines: usize,
    /// For so long everybody writes; then all are given time to settle.
    pub writing_ms: u64,
    pub write_every_ms: u64,
    pub round_trip_ms: u64,
    pub policy: Policy,
}

/// When a machine syncs, and how long it waits after a lost race.
#[derive(Debug, Clone)]
pub struct Policy {
    pub quiet_ms: u64,
    pub max_delay_ms: u64,
    pub interval_ms: u64,
    /// The longest pause after the first lost race in a row, and how much longer or shorter it gets with each further.
    pub pause_ms: (i64, i64),
    /// Whether a machine leaves the remote to others for a while when it meets many.
    pub paced: bool,
    /// The pause after a sync that lost all its races, doubled each time up to the second.
    pub retry_ms: (u64, u64),
    /// Pushes a minute that all machines share; `None` for any number.
    pub push_rate: Option<u32>,
}

impl Default for Policy {
    /// As the daemon does it unless it is told otherwise.
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

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// Per write: from its acknowledgement until the last machine had it.
    pub everywhere_ms: Vec<u64>,
    /// Per write: until the remote had it.
    pub remote_ms: Vec<u64>,
    pub pushes_won: u64,
    pub pushes_lost: u64,
    /// Syncs that lost all their races.
    pub gave_up: u64,
    /// The longest that any machine had writes the remote did not have.
    pub longest_unpushed_ms: u64,
    /// Writes that had not reached everybody in the end.
    pub missing: usize,
}

/// What all threads share. Only one of them runs at a time.
struct Shared {
    timeline: Timeline,
    remote: SimRepository,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    written_ms: BTreeMap<Lineage, u64>,
    known_to: BTreeMap<Lineage, usize>,
    report: Report,
}

impl Fleet {
    pub fn sail(&self) -> Report {
        let mut dice = Dice::new(self.seed);
        let remote = SimRepository::new(dice.roll(), Faults::default());
        let shared = Shared { timeline: Timeline::new(self.machines), remote, notes: Mutex::default() };
        std::thread::scope(|scope| {
            for thread in 0..self.machines {
                let (shared, seed) = (&shared, dice.roll());
                scope.spawn(move || {
                    shared.timeline.enter(thread);
                    Ship::new(self, shared, thread, seed).sail();
                    shared.timeline.leave();
                });
            }
        });
        let mut notes = shared.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.report.missing =
            notes.written_ms.keys().filter(|write| notes.known_to.get(write) != Some(&self.machines)).count();
        notes.report
    }

    /// Everybody may go on syncing for a while after the last write.
    fn ends_ms(&self) -> u64 {
        let all = PushBudget::among(self.machines);
        let window_ms = self.policy.push_rate.map_or(0, |rate| millis(all.share(rate).1));
        self.writing_ms + 4 * (self.policy.interval_ms + window_ms)
    }
}

/// One machine of the fleet.
struct Ship<'a> {
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
    /// No exchange before this.
    breather_ms: u64,
    /// Written here and not on the remote, with the moment of writing.
    unpushed: Vec<(Lineage, u64)>,
}

impl<'a> Ship<'a> {
    fn new(fleet: &'a Fleet, shared: &'a Shared, thread: usize, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let world = SimWorld::new(dice.roll(), START_MS);
        let repository = SimRepository::new(dice.roll(), Faults::default());
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let replica = Replica::open(disk, &repository, world.clone()).expect("nothing goes wrong here");
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
            breather_ms: 0,
            unpushed: Vec::new(),
        }
    }

    fn sail(&mut self) {
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

    /// As the daemon decides it.
    fn sync_due(&self) -> u64 {
        let policy = &self.fleet.policy;
        let changed = self
            .first_change_ms
            .map(|first| (self.last_change_ms + policy.quiet_ms).min(first + policy.max_delay_ms));
        let due = changed.unwrap_or(u64::MAX).min(self.last_exchange_ms + policy.interval_ms);
        let now = Duration::from_millis(self.now_ms());
        let room = self.budget.next(policy.push_rate, now).filter(|_| !self.unpushed.is_empty());
        // Whatever keeps writes back keeps back the exchange that would bring them along.
        let until = self.breather_ms.max(room.map_or(0, millis));
        self.retry.map_or(due.max(until), |(not_before, _)| not_before)
    }

    /// Everything that was to be written until now; a sync under way does not keep anybody from writing.
    fn write(&mut self) {
        let now = self.now_ms();
        while self.next_write_ms <= now && self.next_write_ms < self.fleet.writing_ms {
            let written = self.next_write_ms;
            self.next_write_ms += self.fleet.write_every_ms;
            let title = format!("work {} at {written}", self.thread);
            let op = Op::Create(Box::new(Create::titled(title.parse().expect("a title"))));
            let actor = format!("agent-{}", self.thread).parse().expect("a name");
            let caller = Caller { actor, branch: Default::default(), lease_ms: 0, request: None };
            let applied = self.replica.apply(&op, &caller).expect("nothing goes wrong here");
            let bead = applied.bead.expect("a create makes a bead");
            self.notes(|notes| {
                notes.written_ms.insert(bead.clone(), written);
                notes.known_to.insert(bead.clone(), 1);
            });
            self.known.insert(bead.clone());
            self.unpushed.push((bead, written));
            self.first_change_ms = self.first_change_ms.or(Some(written));
            self.last_change_ms = written;
        }
        if self.next_write_ms >= self.fleet.writing_ms {
            self.next_write_ms = u64::MAX;
        }
        self.replica.commit().expect("nothing goes wrong here");
    }

    fn sync(&mut self) {
        let checkpoint = self.replica.begin_checkpoint().expect("nothing goes wrong here");
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
        let remote = FarRemote { ship: self };
        let synced = checkpoint.sync(&self.repository, &remote, pause);
        let (saved, exchange) = synced.expect("nothing goes wrong here");
        self.replica.finish_checkpoint(saved, Vec::new()).expect("nothing goes wrong here");
        self.last_exchange_ms = self.now_ms();
        if policy.paced {
            let rounds = exchange.as_ref().map_or(MAX_ROUNDS, |exchange| exchange.rounds);
            self.pace.exchanged(rounds, self.now_ms() - begun_ms);
            self.breather_ms = self.now_ms() + self.pace.pause_ms(self.dice.roll());
        }
        let active_since_ms = self.world_ms().saturating_sub(ACTIVE_MS);
        self.budget.machines = self.replica.catalog().active_replicas(active_since_ms).max(1);
        match exchange {
            Ok(exchange) => {
                if exchange.pushed {
                    self.budget.pushed(Duration::from_millis(self.now_ms()));
                }
                self.retry = None;
                self.pushed(taken);
            }
            Err(Error::Contention(_)) => {
                let (first, last) = policy.retry_ms;
                let longer = self.retry.map_or(first, |(_, pause)| (pause * 2).min(last));
                // The remote is not failing: who was too slow so often is the next in turn.
                let pause = if policy.paced { self.dice.below(first) } else { longer };
                self.retry = Some((self.now_ms() + pause, pause));
                self.notes(|notes| notes.report.gave_up += 1);
            }
            Err(error) => panic!("nothing goes wrong here: {error}"),
        }
        self.look_around();
    }

    fn pushed(&mut self, count: usize) {
        let now = self.now_ms();
        let arrived: Vec<u64> = self.unpushed.drain(..count).map(|(_, written)| now - written).collect();
        self.notes(|notes| {
            let longest = arrived.iter().copied().max().unwrap_or(0);
            notes.report.longest_unpushed_ms = notes.report.longest_unpushed_ms.max(longest);
            notes.report.remote_ms.extend(arrived);
        });
    }

    /// Notes which writes came here, and which of them are now everywhere.
    fn look_around(&mut self) {
        let now = self.now_ms();
        let here = self.replica.catalog().state().beads().keys();
        let fresh: Vec<Lineage> = here.filter(|bead| !self.known.contains(*bead)).cloned().collect();
        self.known.extend(fresh.iter().cloned());
        let (machines, steady_ms) = (self.fleet.machines, self.fleet.writing_ms * 2 / 3);
        self.notes(|notes| {
            for bead in fresh {
                let known = notes.known_to.entry(bead.clone()).or_default();
                *known += 1;
                if *known == machines {
                    let written = notes.written_ms.get(&bead).copied().unwrap_or(now);
                    // The last ones meet a fleet that has fallen quiet, and would only show how often it looks.
                    if written < steady_ms {
                        notes.report.everywhere_ms.push(now - written);
                    }
                }
            }
        });
    }

    fn notes<T>(&self, note: impl FnOnce(&mut Notes) -> T) -> T {
        note(&mut self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The remote, half a round trip away in each direction.
struct FarRemote<'a, 'b> {
    ship: &'b Ship<'a>,
}

impl FarRemote<'_, '_> {
    fn travel(&self) {
        self.ship.sleep_until(self.ship.now_ms() + self.ship.fleet.round_trip_ms / 2);
    }
}

impl Remote for FarRemote<'_, '_> {
    fn name(&self) -> &str {
        "far"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.travel();
        let remote = &self.ship.shared.remote;
        let theirs = remote.tip()?;
        if let Some(theirs) = &theirs {
            self.ship.repository.receive_from(remote, theirs)?;
        }
        self.travel();
        Ok(theirs)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.travel();
        let remote = &self.ship.shared.remote;
        remote.receive_from(&self.ship.repository, new)?;
        let won = remote.swing(expected, new)?;
        self.ship.notes(|notes| {
            if won {
                notes.report.pushes_won += 1;
            } else {
                notes.report.pushes_lost += 1;
            }
        });
        self.travel();
        Ok(if won { Pushed::Done } else { Pushed::Lost("the ref is elsewhere".into()) })
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
