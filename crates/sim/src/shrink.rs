//! Makes a failing scenario small enough to read.

use crate::run::{Failure, run};
use crate::scenario::Scenario;

/// Leaves steps out, in ever smaller pieces, as long as the run still fails.
pub fn shrink(scenario: &Scenario, failure: Failure) -> (Scenario, Failure) {
    let (mut smallest, mut why) = (scenario.clone(), failure);
    // What follows the failing step never ran.
    smallest.steps.truncate(why.trace.len().max(1));
    let mut piece = smallest.steps.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        while start < smallest.steps.len() {
            let mut candidate = smallest.clone();
            let end = (start + piece).min(candidate.steps.len());
            candidate.steps.drain(start..end);
            match run(&candidate) {
                Err(failure) => (smallest, why) = (candidate, failure),
                Ok(_) => start += piece,
            }
        }
        piece /= 2;
    }
    (smallest, why)
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
