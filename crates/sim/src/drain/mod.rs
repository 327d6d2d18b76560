//! Many machines that claim and close the beads of one store with exclusive claims, in virtual time. Measures
//! claims per second and tries per claim, and checks that no bead is done twice. Replicas, sync loop and
//! claims are the real ones.

mod distant_remote;
mod machine_state;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use beads_core::op::Create;
use beads_core::{Actor, Lineage, Op};
use beads_store::{Caller, CommitId, Replica, Repository};

use self::machine_state::MachineState;
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

/// The machines and their workload.
#[derive(Debug, Clone)]
pub struct Drain {
    /// The seed.
    pub seed: u64,
    /// The number of machines.
    pub machines: usize,
    /// The number of beads.
    pub beads: usize,
    /// How long each bead takes.
    pub work_ms: u64,
    /// The latency of the remote.
    pub round_trip_ms: u64,
    /// The sync policy.
    pub policy: Policy,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct DrainReport {
    /// For each claim: the time from the request to the answer.
    pub claim_ms: Vec<u64>,
    /// Beads tried on the remote, for all claims together.
    pub tries: usize,
    /// Claims of a bead that was claimed before.
    pub double: usize,
    /// When the last claim was answered.
    pub ended_ms: u64,
    /// Successful pushes.
    pub pushes_won: u64,
    /// Pushes that lost a race.
    pub pushes_lost: u64,
}

struct Shared<'a> {
    drain: &'a Drain,
    timeline: Timeline,
    remote: SimRepository,
    refs: Mutex<BTreeMap<String, CommitId>>,
    stats: Mutex<(DrainReport, BTreeSet<Lineage>)>,
}

impl Drain {
    /// Runs the machines until every bead is done.
    pub fn run(&self) -> DrainReport {
        let mut dice = Dice::new(self.seed);
        let remote = SimRepository::new(dice.roll(), Faults::default());
        self.fill(&remote, &mut dice);
        let shared = Shared {
            drain: self,
            timeline: Timeline::new(2 * self.machines),
            remote,
            refs: Mutex::default(),
            stats: Mutex::default(),
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
        shared.stats.into_inner().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Creates the beads on the remote.
    fn fill(&self, remote: &SimRepository, dice: &mut Dice) {
        let world = SimWorld::new(dice.roll(), START_MS - 60 * 60 * 1000);
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let mut replica = Replica::open(disk, remote, world).expect("no faults are injected");
        for number in 0..self.beads {
            let title = format!("work {number}").parse().expect("a title");
            let op = Op::Create(Box::new(Create::titled(title)));
            replica.apply(&op, &caller("planner")).expect("no faults are injected");
        }
        replica.checkpoint(remote).expect("no faults are injected");
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
    state: Mutex<MachineState>,
}

impl<'a> Machine<'a> {
    fn new(shared: &'a Shared<'a>, index: usize, dice: &mut Dice) -> Self {
        let world = SimWorld::new(dice.roll(), START_MS);
        let repository = SimRepository::new(dice.roll(), Faults::default());
        if let Ok(Some(tip)) = shared.remote.tip() {
            repository.receive_from(&shared.remote, &tip).expect("no faults are injected");
            repository.force(Some(tip));
        }
        let disk = SimDisk::new(dice.roll(), Faults::default());
        let replica = Replica::open(disk, &repository, world.clone()).expect("no faults are injected");
        let first_exchange_ms = dice.below(shared.drain.policy.interval_ms);
        let state = MachineState::new(world, replica, first_exchange_ms, Dice::new(dice.roll()));
        Self { shared, index, repository, state: Mutex::new(state) }
    }

    fn claimer(&self) -> Worker<'a, '_> {
        Worker { machine: self, thread: self.index }
    }

    fn saver(&self) -> Worker<'a, '_> {
        Worker { machine: self, thread: self.shared.drain.machines + self.index }
    }
}
