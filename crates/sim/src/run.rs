//! Runs a scenario and checks the result.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use beads_core::canonical::hex;
use beads_core::{Catalog, State};
use beads_store::Repository;
use sha2::{Digest, Sha256};

use crate::archive::with_content;
use crate::causality;
use crate::clocks::Collected;
use crate::dice::Dice;
use crate::faults::Faults;
use crate::ledger::ParsedSnapshot;
use crate::machine::{Machine, Violation};
use crate::remote::{Network, SimRemote};
use crate::repository::SimRepository;
use crate::scenario::{Action, Scenario, Step};

const START_MS: u64 = 1_700_000_000_000;
const TEN_YEARS_MS: i64 = 10 * 365 * 24 * 60 * 60 * 1000;

/// How many rounds of exchanges it takes until every machine has everything.
const HEALING_ROUNDS: usize = 2;

/// The same with archived beads, and with garbage collection: once all machines know the floor, a machine that was away may bring back
/// a bead that was deleted below it.
const HEALING_ROUNDS_WITH_FLOORS: usize = 4;

/// A failed run.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// What happened, step by step.
    pub trace: Vec<String>,
}

/// Runs a scenario to the end. Returns the hash of everything that happened: the same scenario gives the same
/// hash.
pub fn run(scenario: &Scenario) -> Result<String, Failure> {
    let mut run = Run::new(scenario);
    match run.play(scenario) {
        Ok(()) => Ok(run.trace_hash()),
        Err(message) => Err(Failure { message, trace: run.trace }),
    }
}

struct Run {
    machines: Vec<Machine>,
    network: Network,
    moves_refs: bool,
    trace: Vec<String>,
}

impl Run {
    fn new(scenario: &Scenario) -> Self {
        let mut dice = Dice::new(scenario.seed ^ 0x5151);
        let mut machines: Vec<_> = (0..scenario.machines)
            .map(|_| Machine::new(dice.roll(), START_MS + dice.below(10_000)))
            .collect();
        if let Some(ahead) = scenario.ahead {
            machines[ahead].world.jump(TEN_YEARS_MS);
        }
        let collected = Collected::default();
        for (machine, off_ms) in machines.iter_mut().zip(&scenario.clocks) {
            machine.world.jump(*off_ms);
            (machine.collects, machine.collected) = (true, collected.clone());
        }
        let remote = SimRepository::new(dice.roll(), Faults::default());
        Self { machines, network: Network::new(remote), moves_refs: scenario.moves_refs, trace: Vec::new() }
    }

    fn trace_hash(&self) -> String {
        let mut hash = Sha256::new();
        for line in &self.trace {
            hash.update(line);
            hash.update("\n");
        }
        for machine in &self.machines {
            for (id, commit) in machine.repository.commits() {
                hash.update(id);
                hash.update(commit.parents.concat());
            }
        }
        hex(&hash.finalize())
    }

    fn play(&mut self, scenario: &Scenario) -> Result<(), Violation> {
        for step in &scenario.steps {
            let result = self.step(step);
            let outcome = result.as_ref().unwrap_or_else(|violation| violation);
            self.trace.push(format!("machine {}: {:?}: {outcome}", step.machine, step.action));
            result?;
        }
        self.heal(scenario.seed)?;
        self.judge()
    }

    fn step(&mut self, step: &Step) -> Result<String, Violation> {
        let mut dice = Dice::new(step.dice);
        let machine = &mut self.machines[step.machine];
        machine.world.jump(i64::try_from(dice.below(3_000)).unwrap_or(0));
        let mut trace = machine.open()?;
        if machine.replica.is_none() && dice.chance(40) {
            machine.faults.heal();
        }
        trace.push_str(&match step.action {
            Action::Mutate(count) => machine.mutate(count, &mut dice)?,
            Action::Commit => machine.commit()?,
            Action::Checkpoint => machine.checkpoint()?,
            Action::SlowCheckpoint => machine.slow_checkpoint(&mut dice)?,
            Action::Sync => {
                let network = self.network.clone();
                self.sync(step.machine, &network, Some(dice), true)?
            }
            Action::SyncWithPeer => self.sync_with_peer(step.machine, dice)?,
            Action::Partition => {
                machine.partitioned = !machine.partitioned;
                String::new()
            }
            Action::Deliver => self.network.deliver(&mut dice).map_err(|error| error.to_string())?,
            Action::Replace => self.network.replace(&mut dice)?,
            Action::Rewind => self.network.rewind(&mut dice),
            Action::MoveRef => machine.move_ref(&self.network.repository, &mut dice)?,
            Action::Archive => machine.archive(&mut dice)?,
            Action::RestoreArchived => machine.restore_archived(&mut dice)?,
            Action::Collect => machine.collect(&mut dice)?,
            Action::ResetFloor => machine.reset_floor()?,
            Action::Visit(at_ms) => machine.visit(at_ms, &mut dice)?,
            Action::Retry => machine.retry(&mut dice)?,
            Action::Kill => {
                machine.kill();
                String::new()
            }
            Action::PowerLoss => {
                machine.lose_power();
                String::new()
            }
            Action::Arm(fault) => {
                machine.faults.arm(fault);
                String::new()
            }
            Action::Jump(by_ms) => {
                machine.world.jump(by_ms);
                String::new()
            }
        });
        for machine in self.machines.iter_mut().filter(|machine| machine.faults.is_powered_off()) {
            machine.lose_power();
            trace.push_str("; the power was off");
        }
        Ok(trace)
    }

    /// Exchanges one machine with a remote. Without dice nothing goes wrong. A rival may sync between its
    /// fetch and its push, and its own users continue to write.
    fn sync(
        &mut self,
        index: usize,
        network: &Network,
        trouble: Option<Dice>,
        with_rivals: bool,
    ) -> Result<String, Violation> {
        let Some(checkpoint) = self.machines[index].begin_sync()? else { return Ok("not open".into()) };
        let own = self.machines[index].repository.clone();
        let (partitioned, mirrored) = (self.machines[index].partitioned, self.moves_refs);
        let mut trace = String::new();
        let mut meanwhile = Ok(());
        let mut dice = trouble.clone().unwrap_or_else(|| Dice::new(0));
        let mut rival = || {
            if with_rivals && meanwhile.is_ok() {
                meanwhile = self.meanwhile(index, network, &mut dice).map(|more| trace.push_str(&more));
            }
        };
        let trouble = trouble.map(RefCell::new);
        let remote = SimRemote {
            own,
            network: network.clone(),
            partitioned,
            trouble,
            mirrored,
            rival: RefCell::new(&mut rival),
        };
        let outcome = checkpoint.sync(&remote.own, &remote, |_| ());
        drop(remote);
        meanwhile?;
        trace.push_str(&self.machines[index].finish_sync(outcome)?);
        Ok(trace)
    }

    fn meanwhile(&mut self, index: usize, network: &Network, dice: &mut Dice) -> Result<String, Violation> {
        let rival = dice.index(self.machines.len());
        if rival == index || dice.chance(40) {
            let machine = &mut self.machines[index];
            return Ok(machine.mutate(2, dice)? + &machine.commit()?);
        }
        self.sync(rival, network, Some(dice.clone()), false).map(|trace| format!("rival {rival}: {trace}; "))
    }

    fn sync_with_peer(&mut self, index: usize, mut dice: Dice) -> Result<String, Violation> {
        let peer = dice.index(self.machines.len());
        let faults = &self.machines[peer].faults;
        // A fault on the peer would look like a local one.
        if peer == index || faults.is_armed() || faults.is_powered_off() {
            return Ok("no peer".into());
        }
        let network = Network::new(self.machines[peer].repository.clone());
        self.sync(index, &network, None, false).map(|trace| format!("with {peer}: {trace}"))
    }

    /// Removes all faults and exchanges all machines. After two rounds every machine has everything, and a
    /// third round moves nothing.
    fn heal(&mut self, seed: u64) -> Result<(), Violation> {
        let mut dice = Dice::new(seed ^ 0x4ea1);
        for machine in &mut self.machines {
            if dice.chance(50) {
                machine.lose_power();
            }
            machine.faults.heal();
            machine.partitioned = false;
            machine.kill();
            machine.open()?;
        }
        self.network.drop_late_messages();
        let archives = |machine: &Machine| {
            let state = machine.replica.as_ref().map(|replica| replica.catalog().state());
            state.is_some_and(|state| state.archived().next().is_some())
        };
        // After the remote was replaced, the archive follows the store one round later.
        let archives = self.machines.iter().any(archives);
        let floors = archives || self.machines.iter().any(|machine| machine.collects);
        let rounds = if floors { HEALING_ROUNDS_WITH_FLOORS } else { HEALING_ROUNDS };
        for _ in 0..rounds {
            self.round()?;
        }
        let tips: Vec<_> = self.machines.iter().map(|machine| machine.repository.tip().ok()).collect();
        self.round()?;
        let quiet: Vec<_> = self.machines.iter().map(|machine| machine.repository.tip().ok()).collect();
        if tips != quiet {
            return Err(format!("still moving after {rounds} rounds: {tips:?} became {quiet:?}"));
        }
        Ok(())
    }

    fn round(&mut self) -> Result<(), Violation> {
        let network = self.network.clone();
        for index in 0..self.machines.len() {
            let trace = self.sync(index, &network, None, false)?;
            self.trace.push(format!("machine {index} heals: {trace}"));
        }
        Ok(())
    }

    fn judge(&self) -> Result<(), Violation> {
        let catalogs: Vec<_> =
            self.machines.iter().filter_map(|machine| Some(machine.replica.as_ref()?.catalog())).collect();
        let encoded: Vec<_> = catalogs.iter().map(|catalog| catalog.state().encode()).collect();
        if encoded.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("after healing the replicas differ".into());
        }
        let archive = self.archive();
        let whole = catalogs.first().map(|catalog| with_content(catalog.state(), &archive).encode());
        let parsed = whole.as_ref().map(ParsedSnapshot::new).transpose()?.ok_or("no replica is open")?;
        for (index, machine) in self.machines.iter().enumerate() {
            let describe = |lost| format!("after healing, of machine {index}: {lost}");
            parsed.check_all(machine.lasting_facts()).map_err(describe)?;
            check_history(&machine.collected, &machine.repository, &archive)?;
        }
        let facts = |machine: &Machine| machine.lasting_facts().cloned().collect::<Vec<_>>();
        let writers: Vec<_> = self.machines.iter().map(|machine| (&machine.writes, facts(machine))).collect();
        causality::check(&writers, &parsed)?;
        catalogs.iter().try_for_each(|catalog| check_indexes(catalog))?;
        check_history(&self.machines[0].collected, &self.network.repository, &archive)
    }

    /// Returns what all archives have together.
    fn archive(&self) -> State {
        let mut archive = self.network.repository.archive_state();
        for machine in &self.machines {
            archive.join(&machine.repository.archive_state());
        }
        archive
    }
}

/// Checks that every commit reachable from the ref decodes, encodes to itself, and has everything of its
/// parents except what garbage collection removed or the archive has.
fn check_history(
    collected: &Collected,
    repository: &SimRepository,
    archive: &State,
) -> Result<(), Violation> {
    let commits = repository.commits();
    let mut states: BTreeMap<String, State> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut wanted: Vec<_> = repository.tip().map_err(|error| error.to_string())?.into_iter().collect();
    while let Some(id) = wanted.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let commit = commits.get(&id).ok_or_else(|| format!("commit {id} is gone"))?;
        let state = commit.snapshot.decode().map_err(|error| format!("commit {id}: {error}"))?.state;
        if state.encode() != commit.snapshot {
            return Err(format!("commit {id} does not encode to itself"));
        }
        states.insert(id, state);
        wanted.extend(commit.parents.iter().cloned());
    }
    for (id, state) in &states {
        for parent in &commits[id].parents {
            let mut joined = state.clone();
            joined.join(&states[parent]);
            // Content that came back with the parent must be in the archive.
            joined.hollow_out(archive);
            let mut state = state.clone();
            state.hollow_out(archive);
            let state = &state;
            if joined != *state && !collected.explains_loss(state, &states[parent]) {
                return Err(format!("commit {id} lost something of its parent {parent}"));
            }
        }
    }
    Ok(())
}

/// Checks that the incrementally maintained indexes equal those built from the state.
fn check_indexes(catalog: &Catalog) -> Result<(), Violation> {
    let fresh = Catalog::from(catalog.state().clone());
    let same = catalog.open_and_unblocked().eq(fresh.open_and_unblocked())
        && (catalog.leases(), catalog.deferrals()) == (fresh.leases(), fresh.deferrals())
        && catalog.live().map(|(lineage, _)| lineage).eq(fresh.live().map(|(lineage, _)| lineage));
    if same { Ok(()) } else { Err("the indexes of a catalog drifted from its state".into()) }
}
