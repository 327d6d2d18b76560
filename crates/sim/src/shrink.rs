//! Shrinks a failing scenario until it is small enough to read.

use std::fmt::Display;

use crate::run::{Failure, run};
use crate::scenario::{Scenario, Step};

/// Removes steps, in ever smaller chunks, as long as the run still fails. `run` returns the failure, if any.
fn shrink_steps<S: Clone>(
    steps: Vec<S>,
    failure: Failure,
    run: impl Fn(&[S]) -> Option<Failure>,
) -> (usize, Failure) {
    let (mut smallest, mut why) = (steps, failure);
    let mut piece = smallest.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        while start < smallest.len() {
            let mut candidate = smallest.clone();
            candidate.drain(start..(start + piece).min(smallest.len()));
            match run(&candidate) {
                Some(failure) => (smallest, why) = (candidate, failure),
                None => start += piece,
            }
        }
        piece /= 2;
    }
    (smallest.len(), why)
}

/// Returns a report of a failure for people, with only the steps that matter. `run` runs other steps on the same
/// machines.
pub fn report<S: Clone>(
    (seed, machines): (u64, impl Display),
    steps: &[S],
    failure: Failure,
    run: impl Fn(&[S]) -> Option<Failure>,
) -> String {
    let mut text = format!("seed {seed} with {} steps: {}\n", steps.len(), failure.message);
    // Every step that ran is a line of the trace.
    let ran = failure.trace.len().min(steps.len());
    let (left, why) = shrink_steps(steps[..ran].to_vec(), failure, run);
    text.push_str(&format!("shrunk to {left} steps on {machines}: {}\n", why.message));
    for line in why.trace {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// Returns a report of a failure for people.
pub fn describe(scenario: &Scenario, failure: Failure) -> String {
    let with = |steps: &[Step]| Scenario { steps: steps.to_vec(), ..scenario.clone() };
    let machines = format!("{} machines", scenario.machines);
    report((scenario.seed, machines), &scenario.steps, failure, |steps| run(&with(steps)).err())
}
