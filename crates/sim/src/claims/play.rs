//! Plays a scenario and judges it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use beads_core::op::{ClaimBead, ClaimNext, Close, Create, Fence, Guard, HandOver, Renew, Unclaim};
use beads_core::{Actor, CLAIM_REFS, Lineage, Op, Status};
use beads_store::{Attempt, Outcome, Steady};

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

/// How many beads one claim tries.
const MAX_TRIES: usize = 5;

/// How often something else happens while a message travels, and how often that is a long sleep.
const RIVAL_PERCENT: u64 = 25;
const NAP_PERCENT: u64 = 3;

struct Play {
    nodes: Vec<Node>,
    server: Server,
    time: Time,
    holders: Holders,
    /// Beads whose close was acknowledged.
    closed: BTreeSet<Lineage>,
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
            let told = self.step(number, step);
            let outcome = told.as_ref().unwrap_or_else(|broken| broken);
            let (now_ms, machine) = (self.time.now_ms(), step.machine);
            self.trace.push(format!("{now_ms} machine {machine}: {:?}: {outcome}", step.action));
            told?;
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
        let told = match action {
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
        Ok(told)
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
            done = self.nodes[rival].open().and_then(|()| self.act(rival, action, dice)).map(|told| {
                let now_ms = self.time.now_ms();
                self.trace.push(format!("    {now_ms} meanwhile machine {rival}: {action:?}: {told}"));
            });
            if done.is_err() {
                break;
            }
        }
        self.nested = false;
        done
    }

    /// Runs something that talks to the server. `None` when the process died meanwhile.
    fn online<T>(
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
        let told = talk(&repository, &line);
        drop(line);
        broken?;
        let node = &self.nodes[index];
        Ok((node.life == life && node.replica.is_some()).then_some(told))
    }

    /// `claim --next`, as the engine does it.
    fn claim(&mut self, index: usize, dice: &mut Dice) -> Result<String, Broken> {
        if self.nodes[index].claiming {
            return Ok("another claim is under way".into());
        }
        let life = self.nodes[index].life;
        self.nodes[index].claiming = true;
        let told = self.claim_next(index, dice);
        if self.nodes[index].life == life {
            self.nodes[index].claiming = false;
        }
        told
    }

    fn claim_next(&mut self, index: usize, dice: &mut Dice) -> Result<String, Broken> {
        let actor = self.nodes[index].actor(dice);
        let (mut tried, mut exchanged) = (BTreeSet::new(), false);
        for _ in 0..MAX_TRIES {
            let Some(lineage) = self.candidate(index, &actor, &tried)? else {
                if exchanged || self.fetch(index, dice)?.is_none() {
                    return Ok(format!("nothing for {actor}"));
                }
                exchanged = true;
                continue;
            };
            let node = &mut self.nodes[index];
            let replica = node.replica.as_mut().ok_or("the process does not run")?;
            let begun = node.book.begin(replica, lineage.clone(), &actor, LEASE_MS);
            let attempt = begun.map_err(|error| error.to_string())?;
            let careful = !exchanged && dice.chance(50);
            let round = node.book.round(replica, CLAIM_REFS.into(), vec![attempt.clone()], careful);
            node.save();
            let clock = node.clock.clone();
            let result = self.online(index, dice, |own, line| round.run(own, line, &clock))?;
            let Some(result) = result else { return Ok("died while claiming".into()) };
            let node = &mut self.nodes[index];
            let outcome =
                result.ok().and_then(|result| node.book.round_done(result, &node.clock.now()).pop());
            node.book.tried(&attempt.record.claim, outcome.as_ref());
            node.save();
            match outcome {
                Some(Outcome::Won(..)) => return self.make(index, &attempt, "won"),
                None | Some(Outcome::WonUnseen(..)) if node.scope == Scope::Auto => {
                    return self.make(index, &attempt, "without an answer");
                }
                None | Some(Outcome::WonUnseen(..)) => return Ok("no answer; nothing was claimed".into()),
                Some(Outcome::Held(_)) => drop(tried.insert(lineage)),
                Some(Outcome::WonTooLate | Outcome::Behind) => {
                    if matches!(outcome, Some(Outcome::WonTooLate)) {
                        tried.insert(lineage);
                    }
                    exchanged = true;
                    if self.fetch(index, dice)?.is_none() {
                        return Ok("died while fetching".into());
                    }
                }
                Some(Outcome::Low(_) | Outcome::Gone | Outcome::Refused(_)) => {}
            }
        }
        Ok(format!("nothing for {actor} after {MAX_TRIES} tries"))
    }

    fn candidate(
        &mut self,
        index: usize,
        actor: &Actor,
        tried: &BTreeSet<Lineage>,
    ) -> Result<Option<Lineage>, Broken> {
        let node = &mut self.nodes[index];
        let (now, next) =
            (node.clock.now(), ClaimNext { spread: Some(index.to_string()), ..Default::default() });
        let replica = node.replica.as_ref().ok_or("the process does not run")?;
        let found = next.candidates(replica.catalog(), actor, replica.now_ms(), 99);
        let free = |lineage: &Lineage| {
            !tried.contains(lineage)
                && !node.book.is_in_flight(lineage)
                && !node.book.is_held_elsewhere(lineage, &now)
        };
        Ok(found.map_err(|error| error.to_string())?.into_iter().find(free))
    }

    /// Puts the claim into the store and answers.
    fn make(&mut self, index: usize, attempt: &Attempt, how: &str) -> Result<String, Broken> {
        let node = &mut self.nodes[index];
        let (lineage, claim) = (&attempt.record.lineage, &attempt.record.claim);
        let id = node.id_of(lineage)?;
        let at = (!attempt.existing).then_some(attempt.record.fence);
        let op = Op::Claim(ClaimBead { id, lease_ms: Some(LEASE_MS), at, ..ClaimBead::default() });
        if let Err(code) = node.apply(&op, &attempt.record.holder)? {
            return Ok(format!("{how}, but {code}"));
        }
        if let Some(replica) = &node.replica {
            node.book.claimed(claim, replica.catalog());
        }
        node.save();
        node.commit()?;
        let confirmed = node.confirmed().into_iter().find(|(held, _)| held == claim);
        let pushed = confirmed.and_then(|(_, own)| own.pushed);
        if let Some((commit, _)) = pushed.as_ref().filter(|(commit, _)| self.server.is_too_late(commit)) {
            return Err(format!("{lineage:?} was handed out by {commit} after its close was on the remote"));
        }
        self.holders.look(&self.nodes[index])?;
        let holder = &attempt.record.holder;
        Ok(format!("{how}: {holder} has {lineage:?} as {claim}, confirmed: {}", pushed.is_some()))
    }

    /// A claim on this machine alone: by an old version, or while the remote is left alone.
    fn claim_here(&mut self, index: usize, dice: &mut Dice) -> Result<String, Broken> {
        let actor = self.nodes[index].actor(dice);
        let node = &mut self.nodes[index];
        let next = ClaimNext { lease_ms: Some(LEASE_MS), ..ClaimNext::default() };
        let claimed = match node.apply(&Op::ClaimNext(Box::new(next)), &actor)? {
            Ok(claimed) => claimed,
            Err(code) => return Ok(code),
        };
        if let (Some(lineage), Some(fence)) = (&claimed.bead, claimed.fence)
            && node.scope != Scope::Old
        {
            node.book.note_made(lineage, fence);
        }
        node.commit()?;
        Ok(format!("{actor} has {:?}", claimed.bead))
    }

    /// An agent goes on with a bead that it holds, with its fence; an old version closes whatever is open.
    fn work(&mut self, index: usize, action: Action, dice: &mut Dice) -> Result<String, Broken> {
        let node = &mut self.nodes[index];
        let actor = node.actor(dice);
        let any = node.scope == Scope::Old && action == Action::Close;
        let catalog = node.replica()?.catalog();
        let mine = catalog.live().filter(|(_, bead)| {
            let open = bead.status.value.status != Status::Closed;
            open && (any || bead.claim.is_taken() && bead.claim.assignee.as_ref() == Some(&actor))
        });
        let mine: Vec<_> = mine.map(|(lineage, bead)| (lineage.clone(), bead.claim.fence())).collect();
        let Some((lineage, fence)) = dice.pick(&mine).cloned() else { return Ok("nothing to do".into()) };
        let id = node.id_of(&lineage)?;
        let fence = fence.filter(|_| !any).map(|fence| Fence(node.book.current(fence)));
        let guard = Guard { fence, ..Guard::default() };
        let other = agent(dice.index(self.nodes.len()), dice.below(2));
        let op = match action {
            Action::Renew => Op::Renew(Renew { id, guard, lease_ms: Some(LEASE_MS) }),
            Action::Release => Op::Unclaim(Unclaim { id, guard, ..Unclaim::default() }),
            Action::Close => Op::Close(Close { id, guard, ..Close::default() }),
            _ => Op::HandOver(Box::new(HandOver {
                id,
                guard,
                to: other,
                within_ms: Some(LEASE_MS),
                text: Default::default(),
                force: false,
            })),
        };
        let node = &mut self.nodes[index];
        if let Err(code) = node.apply(&op, &actor)? {
            return Ok(format!("{lineage:?}: {code}"));
        }
        node.commit()?;
        if action == Action::Close {
            self.closed.insert(lineage.clone());
        }
        Ok(format!("{actor} with {lineage:?}"))
    }

    /// Exchanges the store, and looks after the claim refs once that went through.
    fn sync(&mut self, index: usize, dice: &mut Dice) -> Result<String, Broken> {
        if self.nodes[index].exchanging {
            return Ok("another exchange is under way".into());
        }
        let node = &mut self.nodes[index];
        let replica = node.replica.as_mut().ok_or("the process does not run")?;
        let upkeep = (node.scope != Scope::Old).then(|| {
            node.book.adopt_made(replica);
            node.book.upkeep(replica, CLAIM_REFS.into(), &node.clock.now())
        });
        let checkpoint = replica.begin_checkpoint().map_err(|error| error.to_string())?;
        node.commit()?;
        node.exchanging = true;
        let clock = node.clock.clone();
        let result = self.online(index, dice, |own, line| {
            let synced = checkpoint.sync(own, line, |_| ());
            let went_through = matches!(&synced, Ok((_, Ok(_))));
            let upkept = upkeep.filter(|_| went_through).map(|upkeep| upkeep.run(own, line, &clock));
            (synced, upkept)
        })?;
        let Some((synced, upkept)) = result else { return Ok("died while exchanging".into()) };
        let node = &mut self.nodes[index];
        node.exchanging = false;
        let replica = node.replica.as_mut().ok_or("the process does not run")?;
        let (saved, exchange) = synced.map_err(|error| format!("saving failed: {error}"))?;
        replica.finish_checkpoint(saved, Vec::new()).map_err(|error| error.to_string())?;
        let told = match upkept {
            Some(Ok(upkept)) => {
                let told = format!("looked after refs: {}", upkept.summary());
                node.book.upkept(replica, upkept, &node.clock.now());
                node.save();
                node.commit()?;
                told
            }
            Some(Err(error)) => error.to_string(),
            None => exchange.map_or_else(|error| error.to_string(), |exchange| format!("{exchange:?}")),
        };
        self.holders.look(&self.nodes[index])?;
        Ok(told)
    }

    /// Takes in what the remote has, and looks at the refs. `None` when the process died.
    fn fetch(&mut self, index: usize, dice: &mut Dice) -> Result<Option<()>, Broken> {
        if self.nodes[index].exchanging {
            return Ok(Some(()));
        }
        let node = &mut self.nodes[index];
        let look = node.book.look(CLAIM_REFS.into());
        let checkpoint = node.replica()?.begin_checkpoint().map_err(|error| error.to_string())?;
        node.commit()?;
        node.exchanging = true;
        let clock = node.clock.clone();
        let result = self.online(index, dice, |own, line| {
            let fetched = checkpoint.fetch(own, line);
            (fetched, look.run(own, line, &clock))
        })?;
        let Some((fetched, looked)) = result else { return Ok(None) };
        let node = &mut self.nodes[index];
        node.exchanging = false;
        let replica = node.replica.as_mut().ok_or("the process does not run")?;
        let (saved, _) = fetched.map_err(|error| format!("saving failed: {error}"))?;
        replica.finish_checkpoint(saved, Vec::new()).map_err(|error| error.to_string())?;
        if let Ok(looked) = looked {
            node.book.upkept(replica, looked, &node.clock.now());
            node.save();
            node.commit()?;
        }
        self.holders.look(&self.nodes[index])?;
        Ok(Some(()))
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
                let told = self.sync(index, &mut dice)?;
                self.trace.push(format!("machine {index} heals: {told}"));
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
            let told = |lost| format!("after healing, of machine {}: {lost}", node.index);
            reading.check_all(&node.facts).map_err(told)?;
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
            let told = self.claim(0, &mut dice)?;
            if !told.ends_with("confirmed: true") {
                return Err(format!("in the end a claim got {told}; refs: {:?}", self.server.claims()));
            }
        }
        Ok(())
    }
}
