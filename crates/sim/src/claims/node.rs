//! One machine: the real replica, and what it knows about claim refs.

use std::collections::BTreeMap;

use beads_core::{Actor, Applied, Lineage, Op};
use beads_store::{Caller, ClaimBook, OwnClaim, Replica, SteadyClock, Watch, Watched};

use super::clock::LeaseClock;
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::ledger::{Fact, ParsedSnapshot, facts};
use crate::machine::Violation;
use crate::repository::SimRepository;
use crate::world::SimWorld;

/// The lease of a claim.
pub const LEASE_MS: u64 = 60_000;

/// How a machine decides claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The remote decides; without an answer there is no claim.
    Remote,
    /// The remote decides if it answers.
    Auto,
    /// An older version, which does not use claim refs.
    Old,
}

/// One machine.
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
    /// The file that keeps the claim book across restarts.
    file: (BTreeMap<String, OwnClaim>, BTreeMap<String, Watched>),
    pub partitioned: bool,
    /// The machine does nothing before this step.
    pub asleep_until: usize,
    /// How often its process was started.
    pub incarnation: u64,
    /// Whether an exchange is in progress; there is at most one.
    pub exchanging: bool,
    /// Whether a round of claims is in progress; there is at most one.
    pub claiming: bool,
    pub facts: Vec<Fact>,
    pending: Vec<Fact>,
}

impl Node {
    /// Returns a machine whose process is not running.
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
            incarnation: 0,
            exchanging: false,
            claiming: false,
            facts: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Returns one of the two agents that work here.
    pub fn actor(&self, dice: &mut Dice) -> Actor {
        agent(self.index, dice.below(2))
    }

    /// Starts the process if it is not running.
    pub fn open(&mut self) -> Result<(), Violation> {
        if self.replica.is_some() {
            return Ok(());
        }
        self.incarnation += 1;
        let opened = Replica::open(self.disk.clone(), &self.repository, self.world.clone());
        let replica = opened.map_err(|error| format!("opening failed: {error}"))?;
        let parsed = ParsedSnapshot::new(&replica.catalog().state().encode())?;
        parsed.check_all(&self.facts).map_err(|lost| format!("after reopening: {lost}"))?;
        self.replica = Some(replica);
        let (own, watched) = self.file.clone();
        self.book = ClaimBook { own, watch: Watch::new(watched), ..ClaimBook::default() };
        Ok(())
    }

    /// Returns the open replica.
    pub fn replica(&mut self) -> Result<&mut Replica<SimDisk, SimWorld>, Violation> {
        self.replica.as_mut().ok_or_else(|| "the process is not running".to_owned())
    }

    /// Writes the claim book, as the engine writes `claim-refs.json`.
    pub fn save(&mut self) {
        self.file = (self.book.own.clone(), self.book.watch.all());
    }

    /// Kills the process, and with `with_file` also loses its file of claim refs.
    pub fn kill(&mut self, with_file: bool) {
        self.replica = None;
        self.pending.clear();
        (self.exchanging, self.claiming) = (false, false);
        if with_file {
            self.file = Default::default();
        }
    }

    /// Turns the power off and on again.
    pub fn lose_power(&mut self) {
        self.kill(false);
        self.disk.lose_power();
        self.repository.lose_power();
        self.clock.restart();
    }

    /// Applies one operation without acknowledging it. Returns the error code if the core rejects it.
    pub fn apply(&mut self, op: &Op, actor: &Actor) -> Result<Result<Applied, String>, Violation> {
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

    /// Syncs the journal. From now on pending mutations must not be lost.
    pub fn commit(&mut self) -> Result<(), Violation> {
        self.replica()?.commit().map_err(|error| format!("commit failed: {error}"))?;
        self.facts.append(&mut self.pending);
        Ok(())
    }

    /// Returns the id of a bead.
    pub fn id_of(&mut self, lineage: &Lineage) -> Result<String, Violation> {
        Ok(self.replica()?.catalog().id_of(lineage).to_string())
    }

    /// Returns this machine's claims that its users see as confirmed.
    pub fn confirmed(&self) -> Vec<(String, OwnClaim)> {
        let Some(replica) = &self.replica else { return Vec::new() };
        let now = self.clock.now();
        let is_confirmed = |own: &OwnClaim| {
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
