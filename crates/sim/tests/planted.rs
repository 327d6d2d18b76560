//! The tests are tested: each bug on purpose is caught by the ordinary run of the simulator.

use beads_core::planted::{Bug, plant};
use beads_sim::claims::{self, ClaimScenario};
use beads_sim::ordinary::{ONCE_BROKEN, SEEDS, STEPS};
use beads_sim::{Scenario, directed, run};

/// A seed that finds something, and what it says.
type Caught = Option<(u64, String)>;

/// The first seed of the ordinary run that finds something, and what it says.
fn caught() -> Caught {
    let seeds = ONCE_BROKEN.into_iter().chain((0..SEEDS).map(|seed| (seed, STEPS)));
    let ordinary = seeds.map(|(seed, steps)| Scenario::from_seed(seed, steps));
    directed::scenarios().chain(ordinary).find_map(|scenario| {
        let failure = run(&scenario).err()?;
        Some((scenario.seed, failure.message))
    })
}

/// The same of the ordinary run of claim refs.
fn caught_among_claims() -> Caught {
    (0..claims::SEEDS).find_map(|seed| {
        let (message, _) = ClaimScenario::from_seed(seed, claims::STEPS).run().err()?;
        Some((seed, message))
    })
}

/// One test for all, because a bug is planted in the whole process.
#[test]
fn every_planted_bug_is_caught_within_the_ordinary_seeds() {
    let mut missed = Vec::new();
    let ordinary = Bug::SIMULATED.map(|bug| (bug, caught as fn() -> Caught));
    let of_claims = Bug::OF_CLAIM_REFS.map(|bug| (bug, caught_among_claims as fn() -> Caught));
    for (bug, caught) in ordinary.into_iter().chain(of_claims) {
        plant(Some(bug));
        match caught() {
            Some((seed, message)) => {
                let told: String = message.chars().take(110).collect();
                eprintln!("{bug:?}: seed {seed}: {told}");
            }
            None => missed.push(bug),
        }
    }
    plant(None);
    assert!(missed.is_empty(), "nobody noticed {missed:?}");
    for (seed, steps) in ONCE_BROKEN {
        assert!(run(&Scenario::from_seed(seed, steps)).is_ok(), "seed {seed} with nothing planted");
    }
}
