//! Many machines that claim, do and close beads of one store with exclusive claims, in virtual time: how many claims a second,
//! how many tries for one, and does anything get done twice? Replicas, sync loop and claims are the real ones.

mod far;
mod station;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use beads_core::op::Create;
use beads_core::{Actor, Lineage, Op};
use beads_store::{Caller, CommitId, Replica, Repository};

use self::station::Station;
use self::worker::Worker;
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::fleet::Policy;
use crate::repository::SimRepository;
use crate::timeline::Timeline;
use crate::world::SimWorld;

const START_MS: u64 = 1_700_000_000_000;
const LEASE_MS: u64 = 2 * 60 * 60 * 1000;

/// Who takes part, and how much there is to do.
#[derive(Debug, Clone)]
pub struct Drain {
    pub seed: u64,
    pub machines: usize,
    pub beads: usize,
    /// How long a bead takes.
    pub work_ms: u64,
    pub round_trip_ms: u64,
    pub policy: Policy,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct DrainReport {
    /// Per claim: from asking to the answer.
    pub claim_ms: Vec<u64>,
    /// Beads that were tried on the remote, for all claims together.
    pub tries: usize,
    /// Claims of a bead that was claimed before.
    pub double: usize,
    /// When the last claim was answered.
    pub ended_ms: u64,
    pub pushes_won: u64,
    pub pushes_lost: u64,
}

struct Shared<'a> {
    drain: &'a Drain,
    timeline: Timeline,
    remote: SimRepository,
    refs: Mutex<BTreeMap<String, CommitId>>,
    notes: Mutex<(DrainReport, BTreeSet<Lineage>)>,
}

impl Drain {
    pub fn run(&self) -> DrainReport {
        let mut dice = Dice::new(self.seed);
        let remote = SimRepository::new(dice.roll(), Faults::default());
        self.fill(&remote, &mut dice);
        let shared = Shared {
            drain: self,
            timeline: Timeline::new(2 * self.machines),
            remote,
            refs: Mutex::default(),
            notes: Mutex::default(),
        };
        let machines: Vec<_> =
            (0..self.machines).map(|index| Machine::new(&shared, index, &mut dice)).collect();
        std::thread::scope(|scope| {
            for machine in &machines {
                scope.spawn(|| machine.claimer().run(Worker::claim_all));
                scope.spawn(|| machine.saver().run(Worker::save_all));
            }
        });
        drop(machines);
        shared.notes.into_inner().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Puts the beads on the remote.
    fn fill(&self, remote: &SimRepository, dice: &mut Dice) {
        let world = SimWorld::new(dice.roll(), START_MS - 60 * 60 * 1000);
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let mut replica = Replica::open(disk, remote, world).expect("nothing goes wrong here");
        for number in 0..self.beads {
            let title = format!("work {number}").parse().expect("a title");
            let op = Op::Create(Box::new(Create::titled(title)));
            replica.apply(&op, &caller("planner")).expect("nothing goes wrong here");
        }
        replica.checkpoint(remote).expect("nothing goes wrong here");
    }
}

fn caller(actor: &str) -> Caller {
    let actor: Actor = actor.parse().expect("a name");
    Caller { actor, branch: Default::default(), lease_ms: LEASE_MS, request: None }
}

struct Machine<'a> {
    shared: &'a Shared<'a>,
    index: usize,
    repository: SimRepository,
    station: Mutex<Station>,
}

impl<'a> Machine<'a> {
    fn new(shared: &'a Shared<'a>, index: usize, dice: &mut Dice) -> Self {
        let world = SimWorld::new(dice.roll(), START_MS);
        let repository = SimRepository::new(dice.roll(), Faults::default());
        if let Ok(Some(tip)) = shared.remote.tip() {
            repository.receive_from(&shared.remote, &tip).expect("nothing goes wrong here");
            repository.force(Some(tip));
        }
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let replica = Replica::open(disk, &repository, world.clone()).expect("nothing goes wrong here");
        let first_exchange_ms = dice.below(shared.drain.policy.interval_ms);
        let station = Station::new(world, replica, first_exchange_ms, Dice::new(dice.roll()));
        Self { shared, index, repository, station: Mutex::new(station) }
    }

    fn claimer(&self) -> Worker<'a, '_> {
        Worker { machine: self, thread: self.index }
    }

    fn saver(&self) -> Worker<'a, '_> {
        Worker { machine: self, thread: self.shared.drain.machines + self.index }
    }
}
