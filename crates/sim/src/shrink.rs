//! Makes a failing scenario small enough to read.

use crate::run::{Failure, run};
use crate::scenario::{Scenario, Step};

/// Leaves steps out, in ever smaller pieces, as long as the run still fails. `run` returns the failure, if there is one.
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

pub fn shrink(scenario: &Scenario, failure: Failure) -> (Scenario, Failure) {
    // What follows the failing step never ran.
    let mut steps = scenario.steps.clone();
    steps.truncate(failure.trace.len().max(1));
    let with = |steps: &[Step]| Scenario { steps: steps.to_vec(), ..scenario.clone() };
    let (steps, why) = shrink_steps(steps, failure, |steps| run(&with(steps)).err());
    (with(&steps), why)
}

/// A failure as people read it.
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
