//! Scenarios written by hand, for what random steps meet too seldom.

use crate::dice::Dice;
use crate::faults::{Fault, FaultKind};
use crate::scenario::{Action, Scenario, Step};

/// More operations than a checkpoint needs.
const OPERATIONS: u64 = 30;

/// How often each of them fails, each time with other writes.
const WRITINGS: u64 = 10;

/// How many acknowledged requests are repeated.
const RETRIES: usize = 12;

/// How often machines with a fast clock among them are tried, each time with other writes.
const FAST_CLOCKS: u64 = 20;

const MONTH_MS: i64 = 30 * 24 * 60 * 60 * 1000;
const FIVE_YEARS_MS: i64 = 5 * 365 * 24 * 60 * 60 * 1000;

/// What each machine does. The seed decides what it writes.
fn steps(seed: u64, acts: Vec<(usize, Action)>) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    acts.into_iter().map(|(machine, action)| Step { machine, dice: dice.roll(), action }).collect()
}

/// Every IO of a checkpoint fails once. The process dies, the next one checkpoints, the power goes off, and the requests that
/// were acknowledged come again. A receipt whose sync failed is in the cache alone by then.
fn checkpoints_that_fail() -> impl Iterator<Item = Scenario> {
    (0..OPERATIONS * WRITINGS).map(|seed| {
        let after = seed % OPERATIONS;
        let fault = Fault { kind: FaultKind::Io, after, lasting: false };
        let mut actions = vec![Action::Mutate(6), Action::Mutate(6), Action::Commit];
        actions.extend([Action::Arm(fault), Action::Checkpoint, Action::Kill]);
        actions.extend([Action::Checkpoint, Action::PowerLoss]);
        actions.extend([Action::Retry; RETRIES]);
        let steps = steps(seed, actions.into_iter().map(|action| (0, action)).collect());
        Scenario { seed, machines: 2, ahead: None, moved: false, clocks: Vec::new(), steps }
    })
}

/// Two machines make beads and exchange; then the one whose clock is five years ahead forgets deletions, and the other writes
/// over what it stamped.
fn floors_of_a_fast_clock() -> impl Iterator<Item = Scenario> {
    (0..FAST_CLOCKS).map(|seed| {
        let (slow, fast) = (0, 1);
        let mut acts = vec![(fast, Action::Sync), (slow, Action::Mutate(6)), (slow, Action::Sync)];
        acts.extend([(fast, Action::Mutate(6)), (fast, Action::Sync), (slow, Action::Sync)]);
        acts.extend([(slow, Action::Mutate(12)), (slow, Action::Commit), (slow, Action::Sync)]);
        acts.extend([(fast, Action::Sync), (fast, Action::Collect), (fast, Action::Collect)]);
        acts.extend([(fast, Action::Jump(MONTH_MS)), (fast, Action::Collect), (slow, Action::Sync)]);
        let steps = steps(seed, acts);
        Scenario { seed, machines: 2, ahead: None, moved: false, clocks: vec![0, FIVE_YEARS_MS], steps }
    })
}

/// All of them.
pub fn scenarios() -> impl Iterator<Item = Scenario> {
    checkpoints_that_fail().chain(floors_of_a_fast_clock())
}
