//! Plays a scenario and judges it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use beads_core::op::Create;
use beads_core::{Lineage, Op, Status};

use super::clock::{LeaseClock, Time};
use super::line::{Line, Server};
use super::node::{LEASE_MS, Node, Scope, agent};
use super::oracle::Holders;
use super::scenario::{Action, ClaimScenario, Step};
use crate::dice::Dice;
use crate::faults::Faults;
use crate::ledger::Reading;
use crate::machine::Broken;
use crate::repository::SimRepository;
use crate::world::SimWorld;

const START_MS: u64 = 1_700_000_000_000;

/// Few, so that machines meet.
const BEADS: usize = 3;

/// How often something else happens while a message travels, and how often that is a long sleep.
const RIVAL_PERCENT: u64 = 25;
const NAP_PERCENT: u64 = 3;

pub(super) struct Play {
    pub(super) nodes: Vec<Node>,
    pub(super) server: Server,
    time: Time,
    pub(super) holders: Holders,
    /// Beads whose close was acknowledged.
    pub(super) closed: BTreeSet<Lineage>,
    clocks_stop: bool,
    /// What happens while a message travels is not interrupted in turn.
    nested: bool,
    /// Nothing goes wrong any more.
    healed: bool,
    trace: Vec<String>,
}

impl ClaimScenario {
    /// Runs to the end. `Ok` is what happened, `Err` what is wrong and what happened until then.
    pub fn run(&self) -> Result<Vec<String>, (String, Vec<String>)> {
        let mut play = Play::new(self);
        match play.all(self) {
            Ok(()) => Ok(play.trace),
            Err(broken) => Err((broken, play.trace)),
        }
    }
}

impl Play {
    fn new(scenario: &ClaimScenario) -> Self {
        let mut dice = Dice::new(scenario.seed ^ 0x5151);
        let time = Time::new();
        let mut nodes = Vec::new();
        for (index, (scope, apart_ms)) in scenario.machines.iter().enumerate() {
            let world = SimWorld::new(dice.roll(), START_MS.saturating_add_signed(*apart_ms));
            time.add_wall(world.clone());
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

    fn all(&mut self, scenario: &ClaimScenario) -> Result<(), Broken> {
        self.healed = true;
        self.nodes[0].open()?;
        for _ in 0..BEADS {
            self.create(0)?;
        }
        let mut calm = Dice::new(0);
        for index in 0..self.nodes.len() {
            self.nodes[index].open()?;
            self.sync(index, &mut calm)?;
        }
        self.healed = false;
        for (number, step) in scenario.steps.iter().enumerate() {
            let report = self.step(number, step);
            let outcome = report.as_ref().unwrap_or_else(|broken| broken);
            let (now_ms, machine) = (self.time.now_ms(), step.machine);
            self.trace.push(format!("{now_ms} machine {machine}: {:?}: {outcome}", step.action));
            report?;
        }
        self.heal()?;
        self.judge()
    }

    fn step(&mut self, number: usize, step: &Step) -> Result<String, Broken> {
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
                node.clock.stand_still(ms);
            }
            self.time.pass(ms);
            return Ok(String::new());
        }
        node.open()?;
        self.act(step.machine, step.action, &mut dice)
    }

    fn act(&mut self, index: usize, action: Action, dice: &mut Dice) -> Result<String, Broken> {
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
            Action::KillAndForget => self.die(index, |node| node.kill(true)),
            Action::PowerLoss => self.die(index, Node::lose_power),
            Action::Wait(_) | Action::Sleep(_) => String::new(),
        };
        self.holders.look(&self.nodes[index])?;
        Ok(report)
    }

    fn die(&mut self, index: usize, how: impl FnOnce(&mut Node)) -> String {
        how(&mut self.nodes[index]);
        String::new()
    }

    fn create(&mut self, index: usize) -> Result<String, Broken> {
        let node = &mut self.nodes[index];
        let title = format!("work of {index}").parse().map_err(|error| format!("{error}"))?;
        let made = node.apply(&Op::Create(Box::new(Create::titled(title))), &agent(index, 0))?;
        node.commit()?;
        Ok(format!("{:?}", made.map(|made| made.bead)))
    }

    /// Something else happens while a message of this machine travels: another machine is faster, this one does something else at
    /// the same time, dies, or sleeps for long.
    fn meanwhile(&mut self, index: usize, dice: &mut Dice) -> Result<(), Broken> {
        self.time.pass(dice.below(400));
        if self.nested || self.healed || !dice.chance(RIVAL_PERCENT) {
            return Ok(());
        }
        if dice.chance(NAP_PERCENT) {
            let nap_ms = LEASE_MS + dice.below(LEASE_MS);
            if self.clocks_stop {
                self.nodes[index].clock.stand_still(nap_ms);
            }
            self.time.pass(nap_ms);
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

    /// Runs something that talks to the server. `None` when the process died meanwhile.
    pub(super) fn online<T>(
        &mut self,
        index: usize,
        dice: &mut Dice,
        talk: impl FnOnce(&SimRepository, &Line<'_>) -> T,
    ) -> Result<Option<T>, Broken> {
        let (repository, life) = (self.nodes[index].repository.clone(), self.nodes[index].life);
        let trouble = (!self.healed).then(|| RefCell::new(Dice::new(dice.roll())));
        let (server, partitioned) = (self.server.clone(), self.nodes[index].partitioned);
        let mut broken = Ok(());
        let mut chance = Dice::new(dice.roll());
        let mut meanwhile = || {
            if broken.is_ok() {
                broken = self.meanwhile(index, &mut chance);
            }
        };
        let meanwhile = RefCell::new(&mut meanwhile as &mut dyn FnMut());
        let line = Line { own: repository.clone(), server, partitioned, trouble, meanwhile };
        let report = talk(&repository, &line);
        drop(line);
        broken?;
        let node = &self.nodes[index];
        Ok((node.life == life && node.replica.is_some()).then_some(report))
    }

    /// Nothing goes wrong any more, and all exchange until all leases are over everywhere.
    fn heal(&mut self) -> Result<(), Broken> {
        self.healed = true;
        self.server.calm();
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

    fn judge(&mut self) -> Result<(), Broken> {
        let mut encoded = Vec::new();
        for node in &mut self.nodes {
            encoded.push(node.replica()?.catalog().state().encode());
        }
        if encoded.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("after healing the replicas differ".into());
        }
        let reading = Reading::new(&encoded[0])?;
        for node in &self.nodes {
            let after_healing = |lost| format!("after healing, of machine {}: {lost}", node.index);
            reading.check_all(&node.facts).map_err(after_healing)?;
        }
        let catalog = self.nodes[0].replica()?.catalog();
        let open: Vec<_> = catalog.live().filter(|(_, bead)| bead.status() != Status::Closed).collect();
        if let Some((lineage, _)) = open.iter().find(|(lineage, _)| self.closed.contains(*lineage)) {
            return Err(format!("the close of {lineage:?} is lost"));
        }
        let open = open.len();
        self.claim_all(open)
    }

    /// Everything that is open can be claimed in the end, and by confirmed claims, once the wall clocks say so.
    fn claim_all(&mut self, open: usize) -> Result<(), Broken> {
        let wall = self.nodes.iter().map(|node| beads_store::World::now_ms(&node.world)).max().unwrap_or(0);
        let own = beads_store::World::now_ms(&self.nodes[0].world);
        self.time.pass(wall.saturating_sub(own) + 2 * LEASE_MS);
        let mut dice = Dice::new(1);
        self.sync(0, &mut dice)?;
        for _ in 0..open {
            let report = self.claim(0, &mut dice)?;
            if !report.ends_with("confirmed: true") {
                return Err(format!("in the end a claim got {report}; refs: {:?}", self.server.claims()));
            }
        }
        Ok(())
    }
}
