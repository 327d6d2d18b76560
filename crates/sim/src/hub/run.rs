//! Runs a scenario and checks the result.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::op::{Close, Create, Fence, Guard, NoteAdd, Renew, Unclaim, Update};
use beads_core::{Bead, Delta, Lineage, Op, Snapshot, State, Status, Timestamp};
use beads_store::World;

use super::connection::{Connection, Network};
use super::node::{Held, LEASE_MS, Node};
use super::scenario::{Action, HubScenario, Step};
use super::server::Server;
use crate::dice::Dice;
use crate::ledger::ParsedSnapshot;
use crate::machine::Violation;
use crate::run::Failure;
use crate::world::SimWorld;

const START_MS: u64 = 1_700_000_000_000;

/// The initial number of beads: few, so that machines collide.
const BEADS: usize = 3;

/// The beginning of the last line of a trace, before the number of snapshots of several parts that were confirmed.
pub const SNAPSHOTS: &str = "snapshots of several parts: ";

/// A scenario in progress.
pub(super) struct HubRun {
    pub(super) nodes: Vec<Node>,
    pub(super) network: Network,
    healed: bool,
    /// Confirmed claims as their holders know them, with their ends by the clock of the hub.
    holders: BTreeMap<(usize, Lineage), (Held, u64)>,
    /// Everything that any machine ever had: what a sync over Git yields.
    everything: State,
    closed: BTreeSet<Lineage>,
    /// Beads that were reopened at any time, perhaps while another machine closed them again.
    reopened: BTreeSet<Lineage>,
    trace: Vec<String>,
}

impl HubScenario {
    /// Runs to the end. `Ok` is the trace; `Err` is the violation with the trace up to it.
    pub fn run(&self) -> Result<Vec<String>, Failure> {
        let mut run = HubRun::new(self);
        match run.run_to_end(self) {
            Ok(()) => Ok(run.trace),
            Err(message) => Err(Failure { message, trace: run.trace }),
        }
    }
}

impl HubRun {
    fn new(scenario: &HubScenario) -> Self {
        let mut dice = Dice::new(scenario.seed ^ 0x7171);
        let world =
            |dice: &mut Dice, apart: i64| SimWorld::new(dice.roll(), START_MS.saturating_add_signed(apart));
        let nodes = scenario.machines.iter().enumerate().map(|(index, apart)| {
            let world = world(&mut dice, *apart);
            Node::new(index, index % scenario.actors, world, &mut dice)
        });
        let nodes = nodes.collect();
        Self {
            nodes,
            network: Network::new(Server::new(scenario.seed, START_MS, scenario.bug)),
            healed: true,
            holders: BTreeMap::new(),
            everything: State::default(),
            closed: BTreeSet::new(),
            reopened: BTreeSet::new(),
            trace: Vec::new(),
        }
    }

    fn run_to_end(&mut self, scenario: &HubScenario) -> Result<(), Violation> {
        let mut dice = Dice::new(0);
        for index in 0..self.nodes.len() {
            self.nodes[index].open()?;
        }
        for _ in 0..BEADS {
            self.act(0, Action::Create, &mut dice)?;
        }
        for index in 0..self.nodes.len() {
            self.act(index, Action::Exchange, &mut dice)?;
        }
        self.network.server.borrow_mut().back_up();
        self.healed = false;
        for step in &scenario.steps {
            let report = self.step(step);
            let outcome = report.as_ref().unwrap_or_else(|violation| violation);
            let now_ms = self.now_ms() - START_MS;
            self.trace.push(format!("{now_ms} machine {}: {:?}: {outcome}", step.machine, step.action));
            report?;
        }
        self.heal()?;
        self.judge()?;
        self.come_back()?;
        self.clean_up()?;
        self.try_claims()?;
        let confirmed = self.network.server.borrow().confirmed_snapshots();
        self.trace.push(format!("{SNAPSHOTS}{confirmed}"));
        Ok(())
    }

    fn now_ms(&self) -> u64 {
        self.network.server.borrow().now_ms
    }

    pub(super) fn pass(&self, ms: u64) {
        self.network.server.borrow_mut().now_ms += ms;
        for node in &self.nodes {
            node.world.jump(i64::try_from(ms).unwrap_or(0));
        }
    }

    fn step(&mut self, step: &Step) -> Result<String, Violation> {
        let mut dice = Dice::new(step.dice);
        self.pass(dice.below(3_000));
        self.nodes[step.machine].open()?;
        let report = self.act(step.machine, step.action, &mut dice)?;
        self.observe(step.machine)?;
        Ok(report)
    }

    fn connection(&self, index: usize, dice: &mut Dice) -> Connection {
        let trouble = (!self.healed).then(|| Dice::new(dice.roll()));
        let (partitioned, ticket) = (self.nodes[index].partitioned, self.nodes[index].ticket.clone());
        Connection { network: self.network.clone(), ticket, trouble, partitioned, broken: false }
    }

    /// Runs something that uses the hub.
    fn online(
        &mut self,
        index: usize,
        dice: &mut Dice,
        talk: fn(&mut Node, &mut Connection) -> Result<String, Violation>,
    ) -> Result<String, Violation> {
        let mut connection = self.connection(index, dice);
        let report = talk(&mut self.nodes[index], &mut connection);
        self.nodes[index].ticket = connection.ticket;
        report
    }

    pub(super) fn act(&mut self, index: usize, action: Action, dice: &mut Dice) -> Result<String, Violation> {
        match action {
            Action::Exchange => return self.online(index, dice, Node::exchange),
            Action::Claim => return self.online(index, dice, Node::claim),
            Action::Reclaim => return self.online(index, dice, Node::reclaim),
            Action::Compact => return self.online(index, dice, Node::compact),
            Action::Wait(ms) => self.pass(ms),
            Action::Save => self.nodes[index].save(),
            Action::Deliver => self.network.deliver(dice),
            Action::Partition => self.nodes[index].partitioned ^= true,
            Action::Kill => self.nodes[index].kill(false),
            Action::PowerLoss => self.nodes[index].kill(true),
            Action::FailOver => self.network.server.borrow_mut().fail_over(),
            Action::BackUp => self.network.server.borrow_mut().back_up(),
            Action::Restore => self.network.server.borrow_mut().restore(),
            Action::Reopen => return self.reopen(index, dice),
            Action::HandOver(other) => {
                let to = self.nodes[other].actor.clone();
                let op = self.nodes[index].hand_over(&to, dice).filter(|_| to != self.nodes[index].actor);
                return op.map_or_else(|| Ok("nothing".into()), |op| self.write(index, &op));
            }
            Action::Clone(other) => return self.copy_machine(index, other),
            Action::Create => {
                let title =
                    format!("work {}", dice.below(1_000)).parse().map_err(|_| "a title".to_owned())?;
                return self.write(index, &Op::Create(Box::new(Create::titled(title))));
            }
            Action::Write | Action::Note => return self.change(index, action, dice),
            Action::Renew | Action::Release | Action::Close => return self.end(index, action, dice),
        }
        Ok(String::new())
    }

    pub(super) fn write(&mut self, index: usize, op: &Op) -> Result<String, Violation> {
        let node = &mut self.nodes[index];
        let applied = node.apply(op)?;
        node.commit()?;
        Ok(format!("{applied:?}"))
    }

    fn change(&mut self, index: usize, action: Action, dice: &mut Dice) -> Result<String, Violation> {
        let catalog = self.nodes[index].replica()?.catalog();
        let ids: Vec<_> = catalog.live().map(|(lineage, _)| catalog.id_of(lineage).to_string()).collect();
        let Some(id) = dice.pick(&ids).cloned() else { return Ok("nothing".into()) };
        let number = dice.below(1_000);
        let op = if action == Action::Note {
            let content = format!("note {number}").parse().map_err(|_| "a note".to_owned())?;
            Op::NoteAdd(NoteAdd { id, content, ..NoteAdd::default() })
        } else {
            let title = format!("title {number}").parse().map_err(|_| "a title".to_owned())?;
            Op::Update(Box::new(Update { id, title: Some(title), ..Update::default() }))
        };
        self.write(index, &op)
    }

    /// Renews, releases or closes a claim of this machine.
    fn end(&mut self, index: usize, action: Action, dice: &mut Dice) -> Result<String, Violation> {
        let held = self.nodes[index].confirmed();
        let Some(Held { lineage, fence }) = dice.pick(&held).cloned() else { return Ok("nothing".into()) };
        let id = self.nodes[index].replica()?.catalog().id_of(&lineage).to_string();
        let guard = Guard { fence: Some(Fence(fence)), ..Guard::default() };
        let op = match action {
            Action::Renew => Op::Renew(Renew { id, guard, lease_ms: Some(LEASE_MS) }),
            Action::Release => Op::Unclaim(Unclaim { id, guard, ..Unclaim::default() }),
            _ => Op::Close(Close { id, guard, ..Close::default() }),
        };
        let report = self.write(index, &op)?;
        if action == Action::Close && report.starts_with("Ok") {
            self.closed.insert(lineage);
        }
        Ok(report)
    }

    fn reopen(&mut self, index: usize, dice: &mut Dice) -> Result<String, Violation> {
        let Some((lineage, op)) = self.nodes[index].closed(dice) else { return Ok("nothing".into()) };
        let report = self.write(index, &op)?;
        self.reopened.insert(lineage);
        Ok(report)
    }

    /// Makes a machine a copy of another one: the same state, the same identity at the hub.
    fn copy_machine(&mut self, index: usize, other: usize) -> Result<String, Violation> {
        if index == other {
            return Ok("itself".into());
        }
        self.nodes[other].open()?;
        let theirs = self.nodes[other].replica()?.catalog().state().clone();
        self.nodes[other].save();
        let saved = self.nodes[other].saved.clone();
        let node = &mut self.nodes[index];
        let replica = node.replica()?;
        let delta = Delta::between(replica.catalog().state(), &theirs);
        replica.take_foreign(delta, Vec::new()).map_err(|error| error.to_string())?;
        node.commit()?;
        node.saved = saved;
        node.kill(false);
        node.open()?;
        Ok(format!("a copy of machine {other}"))
    }

    /// Records what a machine shows its users now, and checks it.
    pub(super) fn observe(&mut self, index: usize) -> Result<(), Violation> {
        let now_ms = self.now_ms();
        let node = &self.nodes[index];
        if let Some(replica) = &node.replica {
            let delta = Delta::between(&self.everything, replica.catalog().state());
            self.everything.join_delta(&delta).map_err(|error| error.to_string())?;
            // A holder whose process is gone relies on its last answer.
            self.holders.retain(|(holder, _), _| *holder != index);
            for held in node.confirmed() {
                let bead = node.session.copy().state().bead(&held.lineage);
                let known = bead.filter(|bead| bead.claim.fence() == Some(held.fence));
                let bead = known.or_else(|| replica.catalog().bead(&held.lineage));
                let until = bead.and_then(|bead| bead.claim.expires).map_or(0, Timestamp::ms);
                self.holders.insert((index, held.lineage.clone()), (held, until));
            }
        }
        self.holders.retain(|_, (_, until)| *until > now_ms);
        let mut by_bead: BTreeMap<&Lineage, usize> = BTreeMap::new();
        for (holder, lineage) in self.holders.keys() {
            if let Some(other) = by_bead.insert(lineage, *holder) {
                return Err(format!("{lineage:?} is held by machines {other} and {holder}"));
            }
        }
        Ok(())
    }

    /// Ends all faults and exchanges until nothing changes.
    fn heal(&mut self) -> Result<(), Violation> {
        self.healed = true;
        self.network.drop_late();
        let mut dice = Dice::new(0x4ea1);
        for _ in 0..6 {
            for index in 0..self.nodes.len() {
                self.nodes[index].partitioned = false;
                self.nodes[index].open()?;
                let report = self.act(index, Action::Exchange, &mut dice)?;
                self.trace.push(format!("machine {index} heals: {report}"));
                self.observe(index)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self) -> Result<(), Violation> {
        if let Some((replica, seq)) = self.network.server.borrow().repeated_identity() {
            return Err(format!("number {seq} of {replica} was appended twice"));
        }
        let mut encoded = Vec::new();
        for node in &mut self.nodes {
            encoded.push(node.replica()?.catalog().state().encode());
        }
        if encoded.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("after healing the replicas differ".into());
        }
        let files = |snapshot: &Snapshot| {
            [&snapshot.state, &snapshot.tombstones, &snapshot.deps]
                .map(|file| String::from_utf8_lossy(file).into_owned())
        };
        if files(&encoded[0]) != files(&self.everything.encode()) {
            return Err("after healing the replicas lack something that a sync over Git has".into());
        }
        let parsed = ParsedSnapshot::new(&encoded[0])?;
        for node in &self.nodes {
            let lost = |lost| format!("after healing, of machine {}: {lost}", node.index);
            parsed.check_all(&node.facts).map_err(lost)?;
        }
        self.claim_all()
    }

    /// Compacts, and checks that nothing is left of attempts and snapshots that are no longer needed.
    fn clean_up(&mut self) -> Result<(), Violation> {
        let mut dice = Dice::new(2);
        self.pass(2 * LEASE_MS);
        for _ in 0..3 {
            for index in 0..self.nodes.len() {
                self.act(index, Action::Exchange, &mut dice)?;
                self.act(index, Action::Compact, &mut dice)?;
            }
        }
        if self.network.server.borrow().has_leftover() {
            return Err("the hub keeps what is no longer needed".into());
        }
        Ok(())
    }

    /// Checks that a closed bead stays closed, and that every open one can be claimed once all leases are over.
    fn claim_all(&mut self) -> Result<(), Violation> {
        let longest = self.network.server.borrow().longest_lease_ms();
        let ahead = self.nodes.iter().map(|node| node.world.now_ms()).max().unwrap_or(0);
        let own = self.nodes[0].world.now_ms();
        self.pass(ahead.saturating_sub(own) + 60 * longest + 60 * LEASE_MS);
        let catalog = self.nodes[0].replica()?.catalog();
        // A bead that one machine reopened in progress while another one released it is in progress without a claim.
        let is_started = |bead: &Bead| bead.status() == Status::InProgress && !bead.claim.is_taken();
        let is_open = |bead: &Bead| bead.status() != Status::Closed && !is_started(bead);
        let open: Vec<_> = catalog.live().filter(|(_, bead)| is_open(bead)).collect();
        let is_lost = |lineage: &Lineage| self.closed.contains(lineage) && !self.reopened.contains(lineage);
        if let Some((lineage, _)) = open.iter().find(|(lineage, _)| is_lost(lineage)) {
            return Err(format!("the close of {lineage:?} is lost"));
        }
        let (open, mut dice) = (open.len(), Dice::new(1));
        self.act(0, Action::Exchange, &mut dice)?;
        for _ in 0..open {
            let report = self.act(0, Action::Claim, &mut dice)?;
            if !report.starts_with("granted") {
                return Err(format!("the final claim was not granted: {report}"));
            }
        }
        Ok(())
    }
}
