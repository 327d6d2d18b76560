//! One machine: a disk, a repository, a clock, and the real replica on top of them.

use std::collections::BTreeMap;

use beads_core::{Applied, Lineage, Op};
use beads_store::{Asked, Caller, Checkpoint, Error, Exchange, Replica, Repository, Saved, World};

use crate::causality::Writes;
use crate::clocks::{Forgotten, Origins};
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::ledger::{Fact, Reading, facts, minted};
use crate::mutation::Mutations;
use crate::repository::SimRepository;
use crate::world::SimWorld;

/// Receipts outlive every jump of the clock.
const KEEP_RECEIPTS_MS: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
const LEASE_MS: u64 = 60 * 60 * 1000;

/// A fault of the program under test, as opposed to one that was injected.
pub type Broken = String;

/// A machine, and what its replica acknowledged so far.
#[derive(Debug)]
pub struct Machine {
    pub faults: Faults,
    pub disk: SimDisk,
    pub repository: SimRepository,
    pub world: SimWorld,
    pub replica: Option<Replica<SimDisk, SimWorld>>,
    /// Everything acknowledged here.
    pub facts: Vec<Fact>,
    /// Everything tried here, and what was known then.
    pub writes: Writes,
    /// The remote cannot be reached.
    pub partitioned: bool,
    /// Garbage collection is configured.
    pub collects: bool,
    pub forgotten: Forgotten,
    pub(crate) origins: Origins,
    fired_when_opened: u64,
    unacknowledged: Vec<Told>,
    answered: Vec<Request>,
    position: u64,
    /// The latest stamp minted for each bead, edge and so on.
    last_minted: BTreeMap<String, (u64, u64)>,
    requests_made: u64,
}

/// What a caller will be told once the journal is synced.
#[derive(Debug)]
struct Told {
    facts: Vec<Fact>,
    position: u64,
    request: Option<Request>,
}

/// A request with an id, to be repeated.
#[derive(Debug, Clone)]
struct Request {
    op: Op,
    caller: Caller,
    bead: Option<Lineage>,
    /// The answer was a claim.
    claims: bool,
}

impl Machine {
    pub fn new(seed: u64, now_ms: u64) -> Self {
        let mut dice = Dice::new(seed);
        let faults = Faults::default();
        Self {
            disk: SimDisk::new(dice.roll(), faults.clone()),
            repository: SimRepository::new(dice.roll(), faults.clone()),
            world: SimWorld::new(dice.roll(), now_ms),
            faults,
            replica: None,
            facts: Vec::new(),
            writes: Writes::default(),
            partitioned: false,
            collects: false,
            forgotten: Forgotten::default(),
            origins: Origins::default(),
            fired_when_opened: 0,
            unacknowledged: Vec::new(),
            answered: Vec::new(),
            position: 0,
            last_minted: BTreeMap::new(),
            requests_made: 0,
        }
    }

    /// Opens the store if it is not open. Only an injected fault may keep it closed.
    pub fn open(&mut self) -> Result<String, Broken> {
        if self.replica.is_some() {
            return Ok(String::new());
        }
        self.fired_when_opened = self.faults.fired();
        self.world.begin();
        match Replica::open(self.disk.clone(), &self.repository, self.world.clone()) {
            Ok(mut replica) => {
                if self.collects {
                    replica.keep_tags();
                }
                let reading = Reading::new(&replica.catalog().state().encode())?;
                self.forgotten.see(&reading);
                self.check_recovered(replica.position(), &reading)?;
                self.origins.open(&reading);
                self.writes.see(&reading);
                let told = format!("opened at {}", replica.position());
                self.replica = Some(replica);
                Ok(told)
            }
            Err(error) => self.excuse(&error, "open"),
        }
    }

    fn check_recovered(&self, position: u64, reading: &Reading) -> Result<(), Broken> {
        if position < self.position {
            return Err(format!("reopened at {position} after {}", self.position));
        }
        reading.check_all(self.lasting_facts()).map_err(|lost| format!("after reopening: {lost}"))
    }

    /// What was acknowledged here and cannot have been forgotten by garbage collection.
    pub fn lasting_facts(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|fact| !self.forgotten.covers_fact(fact))
    }

    /// An error is expected when a fault was injected since the store was opened, and the program's own otherwise.
    fn excuse(&self, error: &Error, action: &str) -> Result<String, Broken> {
        if self.faults.is_dark() || self.faults.fired() > self.fired_when_opened {
            return Ok(format!("{action} failed: {}", error.code()));
        }
        Err(format!("{action} failed without a fault: {error}"))
    }

    /// Applies random mutations. What the core refuses is part of life.
    pub fn mutate(&mut self, count: u64, dice: &mut Dice) -> Result<String, Broken> {
        let mut told = String::new();
        for _ in 0..count {
            let Some(replica) = &mut self.replica else { return Ok(told) };
            let now_ms = self.world.now_ms();
            let chosen = Mutations { dice, catalog: replica.catalog(), now_ms }.any();
            let Ok(op) = chosen else { continue };
            self.requests_made += 1;
            // Half of them lasting, half passing.
            let mark = if self.requests_made.is_multiple_of(2) { "~" } else { "" };
            let request = dice.chance(30).then(|| Asked {
                id: format!("{mark}r{}", self.requests_made),
                digest: String::new(),
                keep_ms: KEEP_RECEIPTS_MS,
            });
            let actor = Mutations::actor(dice);
            let caller = Caller { actor, branch: Default::default(), lease_ms: LEASE_MS, request };
            told.push_str(&self.apply(op, caller)?);
        }
        Ok(told)
    }

    /// Applies one operation. It is not acknowledged yet.
    pub(crate) fn apply(&mut self, op: Op, caller: Caller) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        match replica.apply(&op, &caller) {
            Ok(applied) => {
                if matches!(op, Op::Create(_)) {
                    self.check_birth(applied.bead.as_ref())?;
                }
                self.remember(&applied, op, caller);
                Ok(format!(" {}", serde_json::to_string(&applied.delta).unwrap_or_default()))
            }
            Err(Error::Core(refused)) => {
                if refused == beads_core::Error::ClockExhausted {
                    self.check_not_stuck()?;
                }
                Ok(format!(" {}", refused.code()))
            }
            Err(error) => Err(format!("apply failed: {error}")),
        }
    }

    fn remember(&mut self, applied: &Applied, op: Op, caller: Caller) {
        if applied.delta.is_empty() {
            return;
        }
        let facts = facts(applied);
        self.writes.write(&facts);
        self.origins.write(&facts);
        self.forgotten.write(&facts);
        let position = self.replica.as_ref().map_or(0, Replica::position);
        let (bead, claims) = (applied.bead.clone(), applied.fence.is_some());
        let request = caller.request.is_some().then_some(Request { op, caller, bead, claims });
        self.unacknowledged.push(Told { facts, position, request });
    }

    pub fn commit(&mut self) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        match replica.commit() {
            Ok(()) => self.acknowledge(),
            Err(error) => {
                self.kill();
                self.excuse(&error, "commit")
            }
        }
    }

    /// The caller of each mutation is told that it is done: from here on it must not be lost.
    fn acknowledge(&mut self) -> Result<String, Broken> {
        for told in std::mem::take(&mut self.unacknowledged) {
            for (subject, stamp) in minted(&told.facts) {
                // A bead that was forgotten may have come back as another replica knew it, without the stamps given here.
                if let Some(before) = self.last_minted.insert(subject.clone(), stamp)
                    && stamp <= before
                    && !self.forgotten.covers(&subject)
                {
                    return Err(format!("minted {stamp:?} after {before:?} for {subject}"));
                }
            }
            self.position = told.position;
            self.facts.extend(told.facts);
            self.answered.extend(told.request);
        }
        Ok(format!("acknowledged {}", self.position))
    }

    pub fn checkpoint(&mut self) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        match replica.checkpoint(&self.repository) {
            Ok(moved) => {
                self.look()?;
                Ok(format!("{}, ref moved: {moved}", self.acknowledge()?))
            }
            Err(error) => self.after_failed_checkpoint(&error),
        }
    }

    /// What was applied may or may not have reached the journal: then only opening again tells. Otherwise the replica
    /// goes on, and its journal still has everything.
    fn after_failed_checkpoint(&mut self, error: &Error) -> Result<String, Broken> {
        if !self.unacknowledged.is_empty() {
            self.kill();
        }
        // It may have failed after a merge came into memory: whoever writes from now on knows what that brought.
        self.look()?;
        self.excuse(error, "checkpoint")
    }

    /// A checkpoint during which mutations go on.
    pub fn slow_checkpoint(&mut self, dice: &mut Dice) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        let checkpoint = match replica.begin_checkpoint() {
            Ok(checkpoint) => checkpoint,
            Err(error) => return self.after_failed_checkpoint(&error),
        };
        let mut told = self.acknowledge()?;
        told.push_str(&self.mutate(2, dice)?);
        told.push_str(&self.commit()?);
        told.push_str(&self.finish(checkpoint)?);
        Ok(told)
    }

    fn finish(&mut self, checkpoint: Checkpoint) -> Result<String, Broken> {
        let saved = checkpoint.save(&self.repository);
        let Some(replica) = &mut self.replica else { return Ok("saved for nobody".into()) };
        let finished = match saved {
            Ok(saved) => replica.finish_checkpoint(saved, Vec::new()),
            Err(error) => {
                replica.abandon_checkpoint();
                Err(error)
            }
        };
        match finished {
            Ok(()) => {
                self.look()?;
                Ok("saved".into())
            }
            Err(error) => self.after_failed_checkpoint(&error),
        }
    }

    /// From now on what is written here knows all that is here.
    fn look(&mut self) -> Result<(), Broken> {
        if let Some(replica) = &self.replica {
            let reading = Reading::new(&replica.catalog().state().encode())?;
            self.forgotten.see(&reading);
            self.writes.see(&reading);
        }
        Ok(())
    }

    /// Sets a checkpoint aside for an exchange with the remote.
    pub fn begin_sync(&mut self) -> Result<Option<Checkpoint>, Broken> {
        let Some(replica) = &mut self.replica else { return Ok(None) };
        match replica.begin_checkpoint() {
            Ok(checkpoint) => {
                self.acknowledge()?;
                Ok(Some(checkpoint))
            }
            Err(error) => self.after_failed_checkpoint(&error).map(|_| None),
        }
    }

    /// Takes note of how the exchange went. Trouble on the way is part of life.
    pub fn finish_sync(
        &mut self,
        outcome: Result<(Saved, Result<Exchange, Error>), Error>,
    ) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok("synced for nobody".into()) };
        let finished = match outcome {
            Ok((saved, exchange)) => replica.finish_checkpoint(saved, Vec::new()).map(|()| exchange),
            Err(error) => {
                replica.abandon_checkpoint();
                Err(error)
            }
        };
        match finished {
            Ok(exchange) => {
                self.look()?;
                match exchange {
                    Ok(exchange) => Ok(format!("{exchange:?}")),
                    Err(Error::Remote { reason, .. } | Error::PushRefused { reason, .. }) => Ok(reason),
                    Err(error) => self.excuse(&error, "exchange"),
                }
            }
            Err(error) => self.after_failed_checkpoint(&error),
        }
    }

    /// A repeated request gets the first answer and changes nothing. Only a claim that is over by now is refused.
    pub fn retry(&mut self, dice: &mut Dice) -> Result<String, Broken> {
        let (Some(replica), Some(request)) = (&mut self.replica, dice.pick(&self.answered)) else {
            return Ok(String::new());
        };
        let position = replica.position();
        let answer = match replica.apply(&request.op, &request.caller) {
            Err(Error::Core(beads_core::Error::StaleClaim { .. })) if request.claims => {
                return Ok("a claim that is over".into());
            }
            answer => answer.map_err(|error| error.to_string())?,
        };
        if answer.bead != request.bead || replica.position() != position {
            return Err(format!("{request:?} was done again: {answer:?}"));
        }
        Ok("the same answer".into())
    }

    /// The process dies; the system's cache lives on.
    pub fn kill(&mut self) {
        self.replica = None;
        self.unacknowledged.clear();
    }

    /// Another program moves the ref of this repository without asking: back, away, or to where the remote's is.
    pub fn move_ref(&mut self, remote: &SimRepository, dice: &mut Dice) -> Result<String, Broken> {
        if self.faults.is_armed() || self.faults.is_dark() {
            return Ok("nobody touches it".into());
        }
        let wrong = |error: Error| error.to_string();
        let target = match dice.below(3) {
            0 => None,
            1 => self.repository.any_commit(dice),
            _ => remote.tip().map_err(wrong)?,
        };
        if let Some(target) = &target
            && !self.repository.commits().contains_key(target)
        {
            self.repository.receive_from(remote, target).map_err(wrong)?;
        }
        self.repository.force(target.clone());
        Ok(format!("the ref is at {}", target.as_deref().unwrap_or("nothing")))
    }

    pub fn lose_power(&mut self) {
        self.kill();
        self.disk.lose_power();
        self.repository.lose_power();
        self.faults.heal();
    }
}
