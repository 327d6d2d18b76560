//! Runs a scenario and checks the result.

use std::cell::RefCell;
use std::collections::BTreeSet;

use beads_core::op::Create;
use beads_core::{Lineage, Op, Status};

use super::clock::{LeaseClock, Time};
use super::connection::{Connection, Server};
use super::node::{LEASE_MS, Node, Scope, agent};
use super::oracle::Holders;
use super::scenario::{Action, ClaimScenario, Step};
use crate::dice::Dice;
use crate::faults::Faults;
use crate::ledger::ParsedSnapshot;
use crate::machine::Violation;
use crate::repository::SimRepository;
use crate::run::Failure;
use crate::world::SimWorld;

const START_MS: u64 = 1_700_000_000_000;

/// The initial number of beads: few, so that machines collide.
const BEADS: usize = 3;

/// How often something else happens while a message is in transit.
const RIVAL_PERCENT: u64 = 25;
/// How often that is a long sleep.
const SLEEP_PERCENT: u64 = 3;

/// A scenario in progress.
pub(super) struct ClaimRun {
    pub(super) nodes: Vec<Node>,
    pub(super) server: Server,
    time: Time,
    pub(super) holders: Holders,
    /// Beads whose close was acknowledged.
    pub(super) closed: BTreeSet<Lineage>,
    clocks_stop: bool,
    /// Whether an interruption is in progress; it is not interrupted in turn.
    nested: bool,
    /// Whether all faults have ended.
    healed: bool,
    trace: Vec<String>,
}

impl ClaimScenario {
    /// Runs to the end. `Ok` is the trace; `Err` is the violation with the trace up to it.
    pub fn run(&self) -> Result<Vec<String>, Failure> {
        let mut run = ClaimRun::new(self);
        match run.run_to_end(self) {
            Ok(()) => Ok(run.trace),
            Err(message) => Err(Failure { message, trace: run.trace }),
        }
    }
}

impl ClaimRun {
    fn new(scenario: &ClaimScenario) -> Self {
        let mut dice = Dice::new(scenario.seed ^ 0x5151);
        let time = Time::new();
        let mut nodes = Vec::new();
        for (index, (scope, apart_ms)) in scenario.machines.iter().enumerate() {
            let world = SimWorld::new(dice.roll(), START_MS.saturating_add_signed(*apart_ms));
            time.add_wall_clock(world.clone());
            let clock = LeaseClock::new(time.clone(), dice.below(1_000_000));
            nodes.push(Node::new(index, *scope, world, clock, &mut dice));
        }
        let server = Server::new(SimRepository::new(dice.roll(), Faults::default()));
        Self {
            nodes,
            server,
            time,
            holders: Holders::default(),
            closed: BTreeSet::new(),
            clocks_stop: scenario.clocks_stop,
            nested: false,
            healed: false,
            trace: Vec::new(),
        }
    }

    fn run_to_end(&mut self, scenario: &ClaimScenario) -> Result<(), Violation> {
        self.healed = true;
        self.nodes[0].open()?;
        for _ in 0..BEADS {
            self.create(0)?;
        }
        let mut dice = Dice::new(0);
        for index in 0..self.nodes.len() {
            self.nodes[index].open()?;
            self.sync(index, &mut dice)?;
        }
        self.healed = false;
        for (number, step) in scenario.steps.iter().enumerate() {
            let report = self.step(number, step);
            let outcome = report.as_ref().unwrap_or_else(|violation| violation);
            let (now_ms, machine) = (self.time.now_ms(), step.machine);
            self.trace.push(format!("{now_ms} machine {machine}: {:?}: {outcome}", step.action));
            report?;
        }
        self.heal()?;
        self.judge()
    }

    fn step(&mut self, number: usize, step: &Step) -> Result<String, Violation> {
        let mut dice = Dice::new(step.dice);
        self.time.pass(dice.below(3_000));
        if let Action::Wait(ms) = step.action {
            self.time.pass(ms);
            return Ok(String::new());
        }
        let node = &mut self.nodes[step.machine];
        if number < node.asleep_until {
            return Ok("asleep".into());
        }
        if let Action::Sleep(ms) = step.action {
            node.asleep_until = number + 1 + dice.index(6);
            if self.clocks_stop {
                node.clock.pause(ms);
            }
            self.time.pass(ms);
            return Ok(String::new());
        }
        node.open()?;
        self.act(step.machine, step.action, &mut dice)
    }

    fn act(&mut self, index: usize, action: Action, dice: &mut Dice) -> Result<String, Violation> {
        let report = match action {
            Action::Claim if self.nodes[index].scope != Scope::Old => self.claim(index, dice)?,
            Action::Claim | Action::ClaimHere => self.claim_here(index, dice)?,
            Action::Renew | Action::Release | Action::Close | Action::HandOver => {
                self.work(index, action, dice)?
            }
            Action::Create => self.create(index)?,
            Action::Sync => self.sync(index, dice)?,
            Action::Deliver => self.server.deliver(dice).map_err(|error| error.to_string())?,
            Action::Partition => {
                self.nodes[index].partitioned ^= true;
                String::new()
            }
            Action::Kill => self.die(index, |node| node.kill(false)),
            Action::KillAndLoseFile => self.die(index, |node| node.kill(true)),
            Action::PowerLoss => self.die(index, Node::lose_power),
            Action::Wait(_) | Action::Sleep(_) => String::new(),
        };
        self.holders.observe(&self.nodes[index])?;
        Ok(report)
    }

    fn die(&mut self, index: usize, how: impl FnOnce(&mut Node)) -> String {
        how(&mut self.nodes[index]);
        String::new()
    }

    fn create(&mut self, index: usize) -> Result<String, Violation> {
        let node = &mut self.nodes[index];
        let title = format!("work of {index}").parse().map_err(|error| format!("{error}"))?;
        let made = node.apply(&Op::Create(Box::new(Create::titled(title))), &agent(index, 0))?;
        node.commit()?;
        Ok(format!("{:?}", made.map(|made| made.bead)))
    }

    /// Runs concurrent events while a message of this machine is in transit: another machine acts first, this
    /// one does something else at the same time, dies, or sleeps for a long time.
    fn meanwhile(&mut self, index: usize, dice: &mut Dice) -> Result<(), Violation> {
        self.time.pass(dice.below(400));
        if self.nested || self.healed || !dice.chance(RIVAL_PERCENT) {
            return Ok(());
        }
        if dice.chance(SLEEP_PERCENT) {
            let sleep_ms = LEASE_MS + dice.below(LEASE_MS);
            if self.clocks_stop {
                self.nodes[index].clock.pause(sleep_ms);
            }
            self.time.pass(sleep_ms);
        }
        self.nested = true;
        let mut done = Ok(());
        for _ in 0..=dice.below(3) {
            let rival = dice.index(self.nodes.len());
            let action = match dice.below(20) {
                0..=7 => Action::Claim,
                8..=13 => Action::Sync,
                14 | 15 => Action::Release,
                16 => Action::Close,
                17 => Action::Deliver,
                18 => Action::Renew,
                _ if dice.chance(30) => Action::Kill,
                _ => Action::Claim,
            };
            done = self.nodes[rival].open().and_then(|()| self.act(rival, action, dice)).map(|report| {
                let now_ms = self.time.now_ms();
                self.trace.push(format!("    {now_ms} meanwhile machine {rival}: {action:?}: {report}"));
            });
            if done.is_err() {
                break;
            }
        }
        self.nested = false;
        done
    }

    /// Runs something that uses the server. Returns `None` if the process died in between.
    pub(super) fn online<T>(
        &mut self,
        index: usize,
        dice: &mut Dice,
        talk: impl FnOnce(&SimRepository, &Connection<'_>) -> T,
    ) -> Result<Option<T>, Violation> {
        let (repository, incarnation) = (self.nodes[index].repository.clone(), self.nodes[index].incarnation);
        let trouble = (!self.healed).then(|| RefCell::new(Dice::new(dice.roll())));
        let (server, partitioned) = (self.server.clone(), self.nodes[index].partitioned);
        let mut violation = Ok(());
        let mut chance = Dice::new(dice.roll());
        let mut meanwhile = || {
            if violation.is_ok() {
                violation = self.meanwhile(index, &mut chance);
            }
        };
        let meanwhile = RefCell::new(&mut meanwhile as &mut dyn FnMut());
        let connection = Connection { own: repository.clone(), server, partitioned, trouble, meanwhile };
        let report = talk(&repository, &connection);
        drop(connection);
        violation?;
        let node = &self.nodes[index];
        Ok((node.incarnation == incarnation && node.replica.is_some()).then_some(report))
    }

    /// Ends all faults and exchanges all machines until all leases are over.
    fn heal(&mut self) -> Result<(), Violation> {
        self.healed = true;
        self.server.drop_late_messages();
        let mut dice = Dice::new(0x4ea1);
        for _ in 0..4 {
            for index in 0..self.nodes.len() {
                self.nodes[index].partitioned = false;
                self.nodes[index].open()?;
                let report = self.sync(index, &mut dice)?;
                self.trace.push(format!("machine {index} heals: {report}"));
            }
            self.time.pass(LEASE_MS / 2 + 1);
        }
        for _ in 0..2 {
            for index in 0..self.nodes.len() {
                self.sync(index, &mut dice)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self) -> Result<(), Violation> {
        let mut encoded = Vec::new();
        for node in &mut self.nodes {
            encoded.push(node.replica()?.catalog().state().encode());
        }
        if encoded.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("after healing the replicas differ".into());
        }
        let parsed = ParsedSnapshot::new(&encoded[0])?;
        for node in &self.nodes {
            let after_healing = |lost| format!("after healing, of machine {}: {lost}", node.index);
            parsed.check_all(&node.facts).map_err(after_healing)?;
        }
        let catalog = self.nodes[0].replica()?.catalog();
        let open: Vec<_> = catalog.live().filter(|(_, bead)| bead.status() != Status::Closed).collect();
        if let Some((lineage, _)) = open.iter().find(|(lineage, _)| self.closed.contains(*lineage)) {
            return Err(format!("the close of {lineage:?} is lost"));
        }
        let open = open.len();
        self.claim_all(open)
    }

    /// Checks that every open bead can be claimed in the end, by confirmed claims, once leases are over by
    /// every wall clock.
    fn claim_all(&mut self, open: usize) -> Result<(), Violation> {
        let wall = self.nodes.iter().map(|node| beads_store::World::now_ms(&node.world)).max().unwrap_or(0);
        let own = beads_store::World::now_ms(&self.nodes[0].world);
        self.time.pass(wall.saturating_sub(own) + 2 * LEASE_MS);
        let mut dice = Dice::new(1);
        self.sync(0, &mut dice)?;
        for _ in 0..open {
            let report = self.claim(0, &mut dice)?;
            if !report.ends_with("confirmed: true") {
                return Err(format!(
                    "the final claim was not confirmed: {report}; refs: {:?}",
                    self.server.claims()
                ));
            }
        }
        Ok(())
    }
}
