//! What happens in a run, decided before it starts. Every step has dice of its own, so that a scenario can be shrunk
//! by leaving steps out without changing what the others do.

use beads_core::limits::MAX_MS;

use crate::dice::Dice;
use crate::faults::{Fault, FaultKind};

/// One seed in so many has rough syncs, in which the disk fails, and remotes that are replaced. The others stay as they
/// were when the simulator did not know these, so that the seeds that once found something still mean the same.
const ROUGH_EVERY: u64 = 5;

/// One seed in so many has refs that another program moves under the replica.
const MOVED_EVERY: u64 = 7;

/// One seed in so many has clocks that are decades apart, visitors from the end of time, and garbage collection.
const CLOCKS_EVERY: u64 = 11;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const YEAR_MS: i64 = 365 * DAY_MS;

/// How far apart clocks are, at most, to either side. The simulation begins in 2023 and stamps end in 2100.
const MAX_YEARS: u64 = 50;

/// One run, from its seed or shrunk.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub seed: u64,
    pub machines: usize,
    /// A machine whose clock is ten years ahead.
    pub ahead: Option<usize>,
    /// Refs are moved by other programs, and fetching moves them too.
    pub moved: bool,
    /// How far off the clock of each machine is; empty where they are right and nothing is forgotten.
    pub clocks: Vec<i64>,
    pub steps: Vec<Step>,
}

/// Something happens on one machine.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub machine: usize,
    pub dice: u64,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Applies some mutations, which are not yet acknowledged.
    Mutate(u64),
    /// Syncs the journal, which acknowledges them.
    Commit,
    Checkpoint,
    /// A checkpoint with mutations between its beginning and its end.
    SlowCheckpoint,
    /// The real sync loop, with whatever the network does to it.
    Sync,
    /// Syncs with the repository of another machine, which finds its ref moved.
    SyncWithPeer,
    /// The way to the remote breaks, or works again.
    Partition,
    /// A push that its sender gave up arrives.
    Deliver,
    /// The remote's ref is forced back, or removed.
    Rewind,
    /// The remote is another one now, with a store of its own.
    Replace,
    /// The ref of this machine's own repository is rewound, replaced or deleted by another program.
    MoveRef,
    /// Raises the floor of garbage collection, perhaps after a deletion.
    Collect,
    /// Takes the floor of garbage collection back.
    ResetFloor,
    /// A machine whose clock is at this time takes what is here, writes, and gives it back.
    Visit(u64),
    /// Asks again for something that was acknowledged.
    Retry,
    /// The process dies; the system's cache lives on.
    Kill,
    PowerLoss,
    Arm(Fault),
    Jump(i64),
}

impl Scenario {
    pub fn from_seed(seed: u64, length: usize) -> Self {
        let mut dice = Dice::new(seed);
        let machines = 2 + dice.index(6);
        let ahead = dice.chance(30).then(|| dice.index(machines));
        let step = |dice: &mut Dice| Step {
            machine: dice.index(machines),
            dice: dice.roll(),
            action: Action::from_dice(dice),
        };
        let mut steps: Vec<Step> = (0..length).map(|_| step(&mut dice)).collect();
        if seed % ROUGH_EVERY == ROUGH_EVERY - 1 {
            roughen(&mut steps, &mut dice);
        }
        let moved = seed % MOVED_EVERY == MOVED_EVERY - 1;
        if moved {
            move_refs(&mut steps, &mut dice);
        }
        let mut clocks = Vec::new();
        if seed % CLOCKS_EVERY == CLOCKS_EVERY - 1 {
            clocks.extend((0..machines).map(|_| years(&mut dice)));
            break_clocks(&mut steps, &mut dice);
        }
        Self { seed, machines, ahead, moved, clocks, steps }
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

/// Puts a failing disk under half of the syncs, and has the machine write on and die soon after; replaces the remote
/// now and then.
fn roughen(steps: &mut Vec<Step>, dice: &mut Dice) {
    for step in std::mem::take(steps) {
        let mut also = |action, dice: &mut Dice| steps.push(Step { action, dice: dice.roll(), ..step });
        if step.action != Action::Sync || dice.chance(50) {
            if step.action == Action::Sync && dice.chance(15) {
                also(Action::Replace, dice);
            }
            steps.push(step);
            continue;
        }
        let kind = if dice.chance(50) { FaultKind::Io } else { FaultKind::NoSpace };
        also(Action::Arm(Fault { kind, after: 3 + dice.below(22), lasting: false }), dice);
        also(step.action, dice);
        also(Action::Mutate(4), dice);
        also(Action::Commit, dice);
        also(Action::Kill, dice);
    }
}

/// Moves the ref now and then after something was saved; often the process dies with it.
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

/// Lets machines forget deletions, take that back, and meet others whose clocks are years ahead or at the end of time.
fn break_clocks(steps: &mut Vec<Step>, dice: &mut Dice) {
    for step in std::mem::take(steps) {
        steps.push(step);
        let mut also = |action, dice: &mut Dice| steps.push(Step { action, dice: dice.roll(), ..step });
        match step.action {
            Action::Checkpoint | Action::SlowCheckpoint | Action::Sync if dice.chance(40) => {
                also(Action::Collect, dice);
            }
            Action::Mutate(_) if dice.chance(5) => {
                let at_ms = if dice.chance(50) { MAX_MS - 1 } else { dice.below(MAX_MS) };
                also(Action::Visit(at_ms), dice);
            }
            Action::Mutate(_) if dice.chance(3) => also(Action::ResetFloor, dice),
            _ => {}
        }
    }
}

fn years(dice: &mut Dice) -> i64 {
    if dice.chance(30) {
        return 0;
    }
    let years = i64::try_from(dice.below(2 * MAX_YEARS + 1)).unwrap_or(0);
    (years - i64::try_from(MAX_YEARS).unwrap_or(0)) * YEAR_MS
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
