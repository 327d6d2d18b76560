//! The steps of a run, fixed before it starts. Every step has its own dice, so that shrinking can remove
//! steps without changing what the others do.

use beads_core::limits::MAX_MS;

use crate::dice::Dice;
use crate::faults::{Fault, FaultKind};

/// One seed in this many has syncs with disk faults, and replaced remotes. The other seeds stay as they were
/// before the simulator had these, so that regression seeds keep their meaning.
const DISK_FAULTS_EVERY: u64 = 5;

/// One seed in this many has refs that another program moves.
const MOVED_EVERY: u64 = 7;

/// One seed in this many has clocks that are decades apart, visitors with the maximum time, and garbage
/// collection.
const CLOCKS_EVERY: u64 = 11;

/// One seed in this many archives and restores beads. No regression seed is among them.
const ARCHIVE_EVERY: u64 = 8;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const YEAR_MS: i64 = 365 * DAY_MS;

/// The maximum error of a clock, in either direction. The simulation begins in 2023, and stamps end in 2100.
const MAX_YEARS: u64 = 50;

/// One run, from its seed or shrunk.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// The number of machines.
    pub machines: usize,
    /// A machine whose clock is ten years ahead.
    pub ahead: Option<usize>,
    /// Whether other programs move refs, and fetching moves them too.
    pub moves_refs: bool,
    /// The error of each clock; empty if clocks are right and garbage is not collected.
    pub clocks: Vec<i64>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One action on one machine.
pub type Step = crate::step::Step<Action>;

/// An action or a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Applies some mutations, which are not yet acknowledged.
    Mutate(u64),
    /// Syncs the journal, which acknowledges them.
    Commit,
    /// Saves the state to the ref.
    Checkpoint,
    /// Runs a checkpoint with mutations between its beginning and its end.
    SlowCheckpoint,
    /// Runs the real sync loop over an unreliable network.
    Sync,
    /// Syncs with the repository of another machine, whose ref moves.
    SyncWithPeer,
    /// Disconnects the machine from the remote, or reconnects it.
    Partition,
    /// Delivers a push after its sender gave up.
    Deliver,
    /// Forces the remote's ref back, or removes it.
    Rewind,
    /// Replaces the remote with another one that has its own store.
    Replace,
    /// Rewinds, replaces or deletes this machine's ref, as another program would.
    MoveRef,
    /// Archives all closed beads, or those closed a while ago.
    Archive,
    /// Restores an archived bead.
    RestoreArchived,
    /// Raises the garbage-collection floor, perhaps after a deletion.
    Collect,
    /// Resets the garbage-collection floor.
    ResetFloor,
    /// A machine whose clock shows this time fetches the local state, writes, and pushes it back.
    Visit(u64),
    /// Repeats an acknowledged request.
    Retry,
    /// Kills the process; the system's cache survives.
    Kill,
    /// Turns the power off and on again.
    PowerLoss,
    /// Plans a fault.
    Arm(Fault),
    /// Moves the clock.
    Jump(i64),
}

impl Scenario {
    /// Returns the scenario of a seed.
    pub fn from_seed(seed: u64, length: usize) -> Self {
        let mut dice = Dice::new(seed);
        let machines = 2 + dice.index(6);
        let ahead = dice.chance(30).then(|| dice.index(machines));
        let step = |_| Step::from_dice(&mut dice, machines, Action::from_dice);
        let mut steps: Vec<Step> = (0..length).map(step).collect();
        if seed % DISK_FAULTS_EVERY == DISK_FAULTS_EVERY - 1 {
            add_disk_faults(&mut steps, &mut dice);
        }
        let moves_refs = seed % MOVED_EVERY == MOVED_EVERY - 1;
        if moves_refs {
            move_refs(&mut steps, &mut dice);
        }
        let mut clocks = Vec::new();
        if seed % CLOCKS_EVERY == CLOCKS_EVERY - 1 {
            clocks.extend((0..machines).map(|_| years(&mut dice)));
            break_clocks(&mut steps, &mut dice);
        }
        if seed % ARCHIVE_EVERY == 1 {
            add_archiving(&mut steps, &mut dice);
        }
        Self { seed, machines, ahead, moves_refs, clocks, steps }
    }
}

impl Action {
    fn from_dice(dice: &mut Dice) -> Self {
        match dice.below(100) {
            0..=37 => Self::Mutate(1 + dice.below(4)),
            38..=54 => Self::Commit,
            55..=62 => Self::Checkpoint,
            63..=66 => Self::SlowCheckpoint,
            67..=74 => Self::Sync,
            75 | 76 if dice.chance(70) => Self::SyncWithPeer,
            75 | 76 => Self::Partition,
            77 if dice.chance(20) => Self::Rewind,
            77 => Self::Deliver,
            78..=80 => Self::Retry,
            81..=85 => Self::Kill,
            86..=89 => Self::PowerLoss,
            90..=96 => Self::Arm(fault(dice)),
            _ => Self::Jump(jump(dice)),
        }
    }
}

/// Adds disk faults to half of the syncs, after which the machine continues to write and soon dies. Sometimes
/// replaces the remote.
fn add_disk_faults(steps: &mut Vec<Step>, dice: &mut Dice) {
    for step in std::mem::take(steps) {
        let mut add = |action, dice: &mut Dice| steps.push(Step { action, dice: dice.roll(), ..step });
        if step.action != Action::Sync || dice.chance(50) {
            if step.action == Action::Sync && dice.chance(15) {
                add(Action::Replace, dice);
            }
            steps.push(step);
            continue;
        }
        let kind = if dice.chance(50) { FaultKind::Io } else { FaultKind::NoSpace };
        add(Action::Arm(Fault { kind, after: 3 + dice.below(22), lasting: false }), dice);
        add(step.action, dice);
        add(Action::Mutate(4), dice);
        add(Action::Commit, dice);
        add(Action::Kill, dice);
    }
}

/// Sometimes moves the ref after a save, and often kills the process at the same time.
fn move_refs(steps: &mut Vec<Step>, dice: &mut Dice) {
    for step in std::mem::take(steps) {
        steps.push(step);
        let saves = matches!(step.action, Action::Checkpoint | Action::SlowCheckpoint | Action::Sync);
        if saves && dice.chance(30) {
            steps.push(Step { action: Action::MoveRef, dice: dice.roll(), ..step });
            if dice.chance(50) {
                steps.push(Step { action: Action::Kill, dice: dice.roll(), ..step });
            }
        }
    }
}

/// Often archives after mutations, and sometimes restores what was archived.
fn add_archiving(steps: &mut Vec<Step>, dice: &mut Dice) {
    for step in std::mem::take(steps) {
        steps.push(step);
        let mut add = |action, dice: &mut Dice| steps.push(Step { action, dice: dice.roll(), ..step });
        match step.action {
            Action::Mutate(_) if dice.chance(25) => add(Action::Archive, dice),
            Action::Mutate(_) if dice.chance(20) => add(Action::RestoreArchived, dice),
            Action::Checkpoint if dice.chance(30) => add(Action::Sync, dice),
            _ => {}
        }
    }
}

/// Adds garbage collection, floor resets, and visitors whose clocks are years ahead or at the maximum time.
fn break_clocks(steps: &mut Vec<Step>, dice: &mut Dice) {
    for step in std::mem::take(steps) {
        steps.push(step);
        let mut add = |action, dice: &mut Dice| steps.push(Step { action, dice: dice.roll(), ..step });
        match step.action {
            Action::Checkpoint | Action::SlowCheckpoint | Action::Sync if dice.chance(40) => {
                add(Action::Collect, dice);
            }
            Action::Mutate(_) if dice.chance(5) => {
                let at_ms = if dice.chance(50) { MAX_MS - 1 } else { dice.below(MAX_MS) };
                add(Action::Visit(at_ms), dice);
            }
            Action::Mutate(_) if dice.chance(3) => add(Action::ResetFloor, dice),
            _ => {}
        }
    }
}

fn years(dice: &mut Dice) -> i64 {
    if dice.chance(30) {
        return 0;
    }
    dice.within(MAX_YEARS) * YEAR_MS
}

fn fault(dice: &mut Dice) -> Fault {
    let kind = match dice.below(4) {
        0 => FaultKind::Io,
        1 => FaultKind::NoSpace,
        _ => FaultKind::PowerLoss,
    };
    Fault { kind, after: dice.below(25), lasting: dice.chance(30) }
}

fn jump(dice: &mut Dice) -> i64 {
    let days = i64::try_from(dice.below(61)).unwrap_or(0) - 30;
    days * DAY_MS + i64::try_from(dice.below(1_000_000)).unwrap_or(0)
}
