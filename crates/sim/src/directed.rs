//! Scenarios written by hand, for what random steps meet too seldom.

use crate::faults::{Fault, FaultKind};
use crate::scenario::{Action, Scenario, Step};

/// More operations than a checkpoint needs.
const OPERATIONS: u64 = 30;

/// How many acknowledged requests are repeated.
const RETRIES: usize = 12;

/// Steps of one machine. The seed decides what it writes.
pub(crate) fn alone(seed: u64, actions: &[Action]) -> Scenario {
    let dice = |index: usize| seed.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64);
    let step = |(index, action): (usize, &Action)| Step { machine: 0, dice: dice(index), action: *action };
    let steps = actions.iter().enumerate().map(step).collect();
    Scenario { seed, machines: 2, ahead: None, moved: false, steps }
}

/// Every IO of a checkpoint fails once. The process dies, the next one checkpoints, the power goes off, and the requests that
/// were acknowledged come again. A receipt whose sync failed is in the cache alone by then.
fn checkpoints_that_fail() -> impl Iterator<Item = Scenario> {
    (0..OPERATIONS).map(|after| {
        let fault = Fault { kind: FaultKind::Io, after, lasting: false };
        let mut actions = vec![Action::Mutate(6), Action::Mutate(6), Action::Commit];
        actions.extend([Action::Arm(fault), Action::Checkpoint, Action::Kill]);
        actions.extend([Action::Checkpoint, Action::PowerLoss]);
        actions.extend([Action::Retry; RETRIES]);
        alone(after, &actions)
    })
}

/// All of them.
pub fn scenarios() -> impl Iterator<Item = Scenario> {
    checkpoints_that_fail()
}
