//! Hand-written scenarios, for situations that random steps reach too rarely.

use crate::dice::Dice;
use crate::faults::{Fault, FaultKind};
use crate::scenario::{Action, Scenario, Step};

/// More IO operations than a checkpoint needs.
const OPERATIONS: u64 = 30;

/// How often each of them fails, each time with different writes.
const WRITINGS: u64 = 10;

/// How many acknowledged requests are repeated.
const RETRIES: usize = 12;

/// How many scenarios have a machine with a fast clock, each with different writes.
const FAST_CLOCKS: u64 = 20;

const MONTH_MS: i64 = 30 * 24 * 60 * 60 * 1000;
const FIVE_YEARS_MS: i64 = 5 * 365 * 24 * 60 * 60 * 1000;

/// Returns the steps of a scenario. The seed decides what the machines write.
fn steps(seed: u64, acts: Vec<(usize, Action)>) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    acts.into_iter().map(|(machine, action)| Step { machine, dice: dice.roll(), action }).collect()
}

/// Each IO operation of a checkpoint fails once. The process dies, the next one checkpoints, the power fails,
/// and acknowledged requests are repeated. At that point a receipt whose sync failed exists only in the
/// cache.
fn checkpoints_that_fail() -> impl Iterator<Item = Scenario> {
    (0..OPERATIONS * WRITINGS).map(|seed| {
        let after = seed % OPERATIONS;
        let fault = Fault { kind: FaultKind::Io, after, lasting: false };
        let mut actions = vec![Action::Mutate(6), Action::Mutate(6), Action::Commit];
        actions.extend([Action::Arm(fault), Action::Checkpoint, Action::Kill]);
        actions.extend([Action::Checkpoint, Action::PowerLoss]);
        actions.extend([Action::Retry; RETRIES]);
        let steps = steps(seed, actions.into_iter().map(|action| (0, action)).collect());
        Scenario { seed, machines: 2, ahead: None, moves_refs: false, clocks: Vec::new(), steps }
    })
}

/// Two machines create beads and exchange them. Then the one whose clock is five years ahead collects
/// garbage, and the other overwrites what it stamped.
fn floors_of_a_fast_clock() -> impl Iterator<Item = Scenario> {
    (0..FAST_CLOCKS).map(|seed| {
        let (slow, fast) = (0, 1);
        let mut acts = vec![(fast, Action::Sync), (slow, Action::Mutate(6)), (slow, Action::Sync)];
        acts.extend([(fast, Action::Mutate(6)), (fast, Action::Sync), (slow, Action::Sync)]);
        acts.extend([(slow, Action::Mutate(12)), (slow, Action::Commit), (slow, Action::Sync)]);
        acts.extend([(fast, Action::Sync), (fast, Action::Collect), (fast, Action::Collect)]);
        acts.extend([(fast, Action::Jump(MONTH_MS)), (fast, Action::Collect), (slow, Action::Sync)]);
        let steps = steps(seed, acts);
        Scenario { seed, machines: 2, ahead: None, moves_refs: false, clocks: vec![0, FIVE_YEARS_MS], steps }
    })
}

/// Returns all hand-written scenarios.
pub fn scenarios() -> impl Iterator<Item = Scenario> {
    checkpoints_that_fail().chain(floors_of_a_fast_clock())
}
