//! Tests the tests: the default run of the simulator catches every planted bug.

use beads_core::planted::{Bug, plant};
use beads_sim::claims::{self, ClaimScenario};
use beads_sim::default_seeds::{REGRESSION_SEEDS, SEEDS, STEPS};
use beads_sim::{Failure, Scenario, directed, run};

/// A seed that finds a violation, and its message.
type Caught = Option<(u64, String)>;

/// Returns the first seed of the default run that finds a violation.
fn caught() -> Caught {
    let seeds = REGRESSION_SEEDS.into_iter().chain((0..SEEDS).map(|seed| (seed, STEPS)));
    let scenarios = seeds.map(|(seed, steps)| Scenario::from_seed(seed, steps));
    directed::scenarios().chain(scenarios).find_map(|scenario| {
        let failure = run(&scenario).err()?;
        Some((scenario.seed, failure.message))
    })
}

/// The same for the default run of claim refs.
fn caught_among_claims() -> Caught {
    (0..claims::SEEDS).find_map(|seed| {
        let Failure { message, .. } = ClaimScenario::from_seed(seed, claims::STEPS).run().err()?;
        Some((seed, message))
    })
}

/// One test for all, because a bug is planted in the whole process.
#[test]
fn every_planted_bug_is_caught_by_the_default_run() {
    let mut missed = Vec::new();
    let of_default_run = Bug::SIMULATED.map(|bug| (bug, caught as fn() -> Caught));
    let of_claims = Bug::CLAIM_REFS.map(|bug| (bug, caught_among_claims as fn() -> Caught));
    for (bug, caught) in of_default_run.into_iter().chain(of_claims) {
        plant(Some(bug));
        match caught() {
            Some((seed, message)) => {
                let message: String = message.chars().take(110).collect();
                eprintln!("{bug:?}: seed {seed}: {message}");
            }
            None => missed.push(bug),
        }
    }
    plant(None);
    assert!(missed.is_empty(), "not caught: {missed:?}");
    for (seed, steps) in REGRESSION_SEEDS {
        assert!(run(&Scenario::from_seed(seed, steps)).is_ok(), "seed {seed} with nothing planted");
    }
}
