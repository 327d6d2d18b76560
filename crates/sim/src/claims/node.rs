//! One machine: the real replica, and what it knows of claim refs.

use std::collections::BTreeMap;

use beads_core::{Actor, Applied, Lineage, Op};
use beads_store::{Caller, ClaimBook, Own, Replica, Steady, Watch, Watched};

use super::clock::LeaseClock;
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::ledger::{Fact, Reading, facts};
use crate::machine::Broken;
use crate::repository::SimRepository;
use crate::world::SimWorld;

pub const LEASE_MS: u64 = 60_000;

/// What a machine does with claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The remote decides, or there is no claim.
    Remote,
    /// The remote decides if it answers.
    Auto,
    /// An older version, which knows nothing of claim refs.
    Old,
}

#[derive(Debug)]
pub struct Node {
    pub index: usize,
    pub scope: Scope,
    pub disk: SimDisk,
    pub repository: SimRepository,
    pub world: SimWorld,
    pub clock: LeaseClock,
    pub replica: Option<Replica<SimDisk, SimWorld>>,
    pub book: ClaimBook,
    /// The file in which the book is kept over restarts.
    file: (BTreeMap<String, Own>, BTreeMap<String, Watched>),
    pub partitioned: bool,
    /// Does nothing before this step.
    pub asleep_until: usize,
    /// How often its process was started.
    pub life: u64,
    /// An exchange or a round of claims is under way; there is at most one of each.
    pub exchanging: bool,
    pub claiming: bool,
    pub facts: Vec<Fact>,
    pending: Vec<Fact>,
}

impl Node {
    pub fn new(index: usize, scope: Scope, world: SimWorld, clock: LeaseClock, dice: &mut Dice) -> Self {
        Self {
            index,
            scope,
            disk: SimDisk::new(dice.roll(), Faults::default()),
            repository: SimRepository::new(dice.roll(), Faults::default()),
            world,
            clock,
            replica: None,
            book: ClaimBook::default(),
            file: Default::default(),
            partitioned: false,
            asleep_until: 0,
            life: 0,
            exchanging: false,
            claiming: false,
            facts: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// The two agents that work here.
    pub fn actor(&self, dice: &mut Dice) -> Actor {
        agent(self.index, dice.below(2))
    }

    /// Starts the process if it does not run.
    pub fn open(&mut self) -> Result<(), Broken> {
        if self.replica.is_some() {
            return Ok(());
        }
        self.life += 1;
        let opened = Replica::open(self.disk.clone(), &self.repository, self.world.clone());
        let replica = opened.map_err(|error| format!("opening failed: {error}"))?;
        let reading = Reading::new(&replica.catalog().state().encode())?;
        reading.check_all(&self.facts).map_err(|lost| format!("after reopening: {lost}"))?;
        self.replica = Some(replica);
        let (own, watched) = self.file.clone();
        self.book = ClaimBook { own, watch: Watch::new(watched), ..ClaimBook::default() };
        Ok(())
    }

    pub fn replica(&mut self) -> Result<&mut Replica<SimDisk, SimWorld>, Broken> {
        self.replica.as_mut().ok_or_else(|| "the process does not run".to_owned())
    }

    /// As the engine writes `claim-refs.json`.
    pub fn save(&mut self) {
        self.file = (self.book.own.clone(), self.book.watch.all());
    }

    /// The process dies; perhaps its file of claim refs is lost with it.
    pub fn kill(&mut self, with_file: bool) {
        self.replica = None;
        self.pending.clear();
        (self.exchanging, self.claiming) = (false, false);
        if with_file {
            self.file = Default::default();
        }
    }

    pub fn lose_power(&mut self) {
        self.kill(false);
        self.disk.lose_power();
        self.repository.lose_power();
        self.clock.restart();
    }

    /// Applies one operation, not yet acknowledged. What the core refuses is an error code.
    pub fn apply(&mut self, op: &Op, actor: &Actor) -> Result<Result<Applied, String>, Broken> {
        let branch = Default::default();
        let caller = Caller { actor: actor.clone(), branch, lease_ms: LEASE_MS, request: None };
        match self.replica()?.apply(op, &caller) {
            Ok(applied) => {
                self.pending.extend(facts(&applied));
                Ok(Ok(applied))
            }
            Err(beads_store::Error::Core(error)) => Ok(Err(error.code().to_string())),
            Err(error) => Err(format!("apply failed: {error}")),
        }
    }

    /// From here on it must not be lost.
    pub fn commit(&mut self) -> Result<(), Broken> {
        self.replica()?.commit().map_err(|error| format!("commit failed: {error}"))?;
        self.facts.append(&mut self.pending);
        Ok(())
    }

    pub fn id_of(&mut self, lineage: &Lineage) -> Result<String, Broken> {
        Ok(self.replica()?.catalog().id_of(lineage).to_string())
    }

    /// The claims of this machine that its users see as confirmed, with the end of their safety.
    pub fn confirmed(&self) -> Vec<(String, Own)> {
        let Some(replica) = &self.replica else { return Vec::new() };
        let now = self.clock.now();
        let is_confirmed = |own: &Own| {
            let bead = replica.catalog().bead(&own.lineage);
            bead.is_some_and(|bead| {
                bead.claim.fence() == Some(own.fence)
                    && self.book.is_confirmed(&own.lineage, bead, replica.now_ms(), &now) == Some(true)
            })
        };
        let held = self.book.own.iter().filter(|(_, own)| is_confirmed(own));
        held.map(|(claim, own)| (claim.clone(), own.clone())).collect()
    }
}

pub fn agent(node: usize, number: u64) -> Actor {
    format!("agent-{node}-{number}").parse().expect("a valid name")
}
