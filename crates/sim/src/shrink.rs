//! Shrinks a failing scenario until it is small enough to read.

use crate::run::{Failure, run};
use crate::scenario::{Scenario, Step};

/// Removes steps, in ever smaller chunks, as long as the run still fails. `run` returns the failure, if any.
pub fn shrink_steps<S: Clone, F>(steps: Vec<S>, failure: F, run: impl Fn(&[S]) -> Option<F>) -> (Vec<S>, F) {
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
    (smallest, why)
}

/// Returns the smallest scenario found that still fails, and its failure.
pub fn shrink(scenario: &Scenario, failure: Failure) -> (Scenario, Failure) {
    // Steps after the failing one never ran.
    let mut steps = scenario.steps.clone();
    steps.truncate(failure.trace.len().max(1));
    let with = |steps: &[Step]| Scenario { steps: steps.to_vec(), ..scenario.clone() };
    let (steps, why) = shrink_steps(steps, failure, |steps| run(&with(steps)).err());
    (with(&steps), why)
}

/// Returns a report of a failure for people.
pub fn describe(scenario: &Scenario, failure: Failure) -> String {
    let steps = scenario.steps.len();
    let (smallest, why) = shrink(scenario, failure);
    let mut text = format!("seed {} with {steps} steps: {}\n", scenario.seed, why.message);
    text.push_str(&format!("shrunk to {} steps on {} machines:\n", smallest.steps.len(), smallest.machines));
    for line in &why.trace {
        text.push_str("  ");
        text.push_str(line);
        text.push('\n');
    }
    text
}
