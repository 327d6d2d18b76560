//! One machine: a disk, a repository, a clock, and the real replica on top of them.

use std::collections::BTreeMap;

use beads_core::{Applied, Lineage, Op, State};
use beads_store::{Caller, Checkpoint, Error, Exchange, Replica, Repository, RequestKey, Saved, World};

use crate::archive::with_content;
use crate::causality::Writes;
use crate::clocks::{Collected, Origins};
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::ledger::{Fact, ParsedSnapshot, facts, minted};
use crate::mutation::Mutations;
use crate::repository::SimRepository;
use crate::world::SimWorld;

/// Receipts outlive every jump of the clock.
const KEEP_RECEIPTS_MS: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
const LEASE_MS: u64 = 60 * 60 * 1000;

/// A bug in the program under test, as opposed to an injected fault.
pub type Violation = String;

/// A machine, and everything its replica has acknowledged.
#[derive(Debug)]
pub struct Machine {
    /// Its injected faults.
    pub faults: Faults,
    /// Its disk.
    pub disk: SimDisk,
    /// Its repository.
    pub repository: SimRepository,
    /// Its clock and random numbers.
    pub world: SimWorld,
    /// The open replica, if the process runs.
    pub replica: Option<Replica<SimDisk, SimWorld>>,
    /// Everything acknowledged here.
    pub facts: Vec<Fact>,
    /// Everything attempted here, and what was known at that time.
    pub writes: Writes,
    /// Whether the remote is unreachable.
    pub partitioned: bool,
    /// Whether garbage collection is configured.
    pub collects: bool,
    /// What garbage collection may have removed.
    pub collected: Collected,
    pub(crate) origins: Origins,
    fired_when_opened: u64,
    unacknowledged: Vec<PendingAck>,
    answered: Vec<Request>,
    position: u64,
    /// The latest stamp minted for each bead, edge and so on.
    last_minted: BTreeMap<String, (u64, u64)>,
    requests_made: u64,
}

/// A mutation that is acknowledged once the journal is synced.
#[derive(Debug)]
struct PendingAck {
    facts: Vec<Fact>,
    position: u64,
    request: Option<Request>,
}

/// A request with an id, which may be repeated.
#[derive(Debug, Clone)]
struct Request {
    op: Op,
    caller: Caller,
    bead: Option<Lineage>,
    /// Whether the answer was a claim.
    claims: bool,
}

impl Machine {
    /// Returns a machine with an empty store.
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
            collected: Collected::default(),
            origins: Origins::default(),
            fired_when_opened: 0,
            unacknowledged: Vec::new(),
            answered: Vec::new(),
            position: 0,
            last_minted: BTreeMap::new(),
            requests_made: 0,
        }
    }

    /// Opens the store if it is not open. Only an injected fault may make this fail.
    pub fn open(&mut self) -> Result<String, Violation> {
        if self.replica.is_some() {
            return Ok(String::new());
        }
        self.fired_when_opened = self.faults.fired();
        self.world.begin();
        match Replica::open(self.disk.clone(), &self.repository, self.world.clone()) {
            Ok(replica) => {
                let parsed = ParsedSnapshot::new(&self.whole(replica.catalog().state()).encode())?;
                self.collected.see(&parsed);
                self.check_recovered(replica.position(), &parsed)?;
                self.writes.see(&parsed);
                let trace = format!("opened at {}", replica.position());
                self.replica = Some(replica);
                Ok(trace)
            }
            Err(error) => self.expect_fault(&error, "open"),
        }
    }

    fn check_recovered(&self, position: u64, parsed: &ParsedSnapshot) -> Result<(), Violation> {
        if position < self.position {
            return Err(format!("reopened at {position} after {}", self.position));
        }
        parsed.check_all(self.lasting_facts()).map_err(|lost| format!("after reopening: {lost}"))
    }

    /// Returns everything acknowledged here that garbage collection cannot have removed.
    pub fn lasting_facts(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|fact| !self.collected.covers_fact(fact))
    }

    /// Accepts an error if a fault was injected since the store was opened. Otherwise the error is a
    /// violation.
    pub(crate) fn expect_fault(&self, error: &Error, action: &str) -> Result<String, Violation> {
        if self.faults.is_powered_off() || self.faults.fired() > self.fired_when_opened {
            return Ok(format!("{action} failed: {}", error.code()));
        }
        Err(format!("{action} failed without a fault: {error}"))
    }

    /// Applies random mutations. The core may reject some of them.
    pub fn mutate(&mut self, count: u64, dice: &mut Dice) -> Result<String, Violation> {
        let mut trace = String::new();
        for _ in 0..count {
            let Some(replica) = &mut self.replica else { return Ok(trace) };
            let now_ms = self.world.now_ms();
            let chosen = Mutations { dice, catalog: replica.catalog(), now_ms }.any();
            let Ok(op) = chosen else { continue };
            self.requests_made += 1;
            // Half of the receipts are lasting, half short-lived.
            let mark = if self.requests_made.is_multiple_of(2) { "~" } else { "" };
            let request = dice.chance(30).then(|| RequestKey {
                id: format!("{mark}r{}", self.requests_made),
                digest: String::new(),
                keep_ms: KEEP_RECEIPTS_MS,
            });
            let actor = Mutations::actor(dice);
            let caller = Caller { actor, branch: Default::default(), lease_ms: LEASE_MS, request };
            trace.push_str(&self.apply(op, caller)?);
        }
        Ok(trace)
    }

    /// Applies one operation, without acknowledging it.
    pub(crate) fn apply(&mut self, op: Op, caller: Caller) -> Result<String, Violation> {
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
        self.collected.write(&facts);
        let position = self.replica.as_ref().map_or(0, Replica::position);
        let (bead, claims) = (applied.bead.clone(), applied.fence.is_some());
        let request = caller.request.is_some().then_some(Request { op, caller, bead, claims });
        self.unacknowledged.push(PendingAck { facts, position, request });
    }

    /// Syncs the journal and acknowledges all pending mutations.
    pub fn commit(&mut self) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        match replica.commit() {
            Ok(()) => self.acknowledge(),
            Err(error) => {
                self.kill();
                self.expect_fault(&error, "commit")
            }
        }
    }

    /// Acknowledges all pending mutations. From now on they must not be lost.
    fn acknowledge(&mut self) -> Result<String, Violation> {
        for pending in std::mem::take(&mut self.unacknowledged) {
            for (subject, stamp) in minted(&pending.facts) {
                // A bead that was collected may have come back from another replica, without the stamps
                // minted here.
                if let Some(before) = self.last_minted.insert(subject.clone(), stamp)
                    && stamp <= before
                    && !self.collected.covers(&subject)
                {
                    return Err(format!("minted {stamp:?} after {before:?} for {subject}"));
                }
            }
            self.position = pending.position;
            self.facts.extend(pending.facts);
            self.answered.extend(pending.request);
        }
        Ok(format!("acknowledged {}", self.position))
    }

    /// Saves the state to the ref.
    pub fn checkpoint(&mut self) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        match replica.checkpoint(&self.repository) {
            Ok(moved) => {
                self.observe_state()?;
                Ok(format!("{}, ref moved: {moved}", self.acknowledge()?))
            }
            Err(error) => self.after_failed_checkpoint(&error),
        }
    }

    /// Handles a failed checkpoint. If mutations were pending, they may or may not be in the journal, so the
    /// store must be reopened. Otherwise the replica continues, and its journal still has everything.
    fn after_failed_checkpoint(&mut self, error: &Error) -> Result<String, Violation> {
        if !self.unacknowledged.is_empty() {
            self.kill();
        }
        // It may have failed after a merge reached memory. Later writes then know the merged state.
        self.observe_state()?;
        self.expect_fault(error, "checkpoint")
    }

    /// Runs a checkpoint with mutations between its beginning and its end.
    pub fn slow_checkpoint(&mut self, dice: &mut Dice) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        let checkpoint = match replica.begin_checkpoint() {
            Ok(checkpoint) => checkpoint,
            Err(error) => return self.after_failed_checkpoint(&error),
        };
        let mut trace = self.acknowledge()?;
        trace.push_str(&self.mutate(2, dice)?);
        trace.push_str(&self.commit()?);
        trace.push_str(&self.finish(checkpoint)?);
        Ok(trace)
    }

    fn finish(&mut self, checkpoint: Checkpoint) -> Result<String, Violation> {
        let saved = checkpoint.save(&self.repository);
        let Some(replica) = &mut self.replica else { return Ok("saved after the process died".into()) };
        let finished = match saved {
            Ok(saved) => replica.finish_checkpoint(saved, Vec::new()),
            Err(error) => {
                replica.abandon_checkpoint();
                Err(error)
            }
        };
        match finished {
            Ok(()) => {
                self.observe_state()?;
                Ok("saved".into())
            }
            Err(error) => self.after_failed_checkpoint(&error),
        }
    }

    /// Returns a state with the content that this machine's archive has.
    fn whole(&self, state: &State) -> State {
        with_content(state, &self.repository.archive_state())
    }

    /// Records that later writes here know the current state.
    fn observe_state(&mut self) -> Result<(), Violation> {
        if let Some(replica) = &self.replica {
            let parsed = ParsedSnapshot::new(&self.whole(replica.catalog().state()).encode())?;
            self.collected.see(&parsed);
            self.writes.see(&parsed);
        }
        Ok(())
    }

    /// Begins a checkpoint for an exchange with the remote.
    pub fn begin_sync(&mut self) -> Result<Option<Checkpoint>, Violation> {
        let Some(replica) = &mut self.replica else { return Ok(None) };
        match replica.begin_checkpoint() {
            Ok(checkpoint) => {
                self.acknowledge()?;
                Ok(Some(checkpoint))
            }
            Err(error) => self.after_failed_checkpoint(&error).map(|_| None),
        }
    }

    /// Processes the result of an exchange. Network errors are expected.
    pub fn finish_sync(
        &mut self,
        outcome: Result<(Saved, Result<Exchange, Error>), Error>,
    ) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok("synced after the process died".into()) };
        let finished = match outcome {
            Ok((saved, exchange)) => replica.finish_checkpoint(saved, Vec::new()).map(|()| exchange),
            Err(error) => {
                replica.abandon_checkpoint();
                Err(error)
            }
        };
        match finished {
            Ok(exchange) => {
                self.observe_state()?;
                match exchange {
                    Ok(exchange) => Ok(format!("{exchange:?}")),
                    Err(Error::Remote { reason, .. } | Error::PushRefused { reason, .. }) => Ok(reason),
                    Err(error) => self.expect_fault(&error, "exchange"),
                }
            }
            Err(error) => self.after_failed_checkpoint(&error),
        }
    }

    /// Repeats an acknowledged request. It must get the first answer and change nothing. Only a claim that
    /// has ended may be rejected.
    pub fn retry(&mut self, dice: &mut Dice) -> Result<String, Violation> {
        let (Some(replica), Some(request)) = (&mut self.replica, dice.pick(&self.answered)) else {
            return Ok(String::new());
        };
        let position = replica.position();
        let answer = match replica.apply(&request.op, &request.caller) {
            Err(Error::Core(beads_core::Error::StaleClaim { .. })) if request.claims => {
                return Ok("the claim has ended".into());
            }
            answer => answer.map_err(|error| error.to_string())?,
        };
        if answer.bead != request.bead || replica.position() != position {
            return Err(format!("{request:?} was done again: {answer:?}"));
        }
        Ok("the same answer".into())
    }

    /// Kills the process; the system's cache survives.
    pub fn kill(&mut self) {
        self.replica = None;
        self.unacknowledged.clear();
    }

    /// Moves this repository's ref like another program would: back, away, or to the remote's tip.
    pub fn move_ref(&mut self, remote: &SimRepository, dice: &mut Dice) -> Result<String, Violation> {
        if self.faults.is_armed() || self.faults.is_powered_off() {
            return Ok("the ref was not touched".into());
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

    /// Turns the power off and on again.
    pub fn lose_power(&mut self) {
        self.kill();
        self.disk.lose_power();
        self.repository.lose_power();
        self.faults.heal();
    }
}
