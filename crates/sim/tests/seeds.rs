//! The default run of the simulator, and the regression seeds.

use beads_sim::default_seeds::{REGRESSION_SEEDS, SEEDS, STEPS};
use beads_sim::{describe, directed, run, run_seed};

fn expect_ok(seed: u64, steps: usize) -> String {
    run_seed(seed, steps).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn even_seeds_lose_nothing() {
    (0..SEEDS).step_by(2).for_each(|seed| drop(expect_ok(seed, STEPS)));
}

#[test]
fn odd_seeds_lose_nothing() {
    (1..SEEDS).step_by(2).for_each(|seed| drop(expect_ok(seed, STEPS)));
}

#[test]
fn regression_seeds_lose_nothing() {
    for (seed, steps) in REGRESSION_SEEDS {
        expect_ok(seed, steps);
    }
}

#[test]
fn directed_scenarios_lose_nothing() {
    for scenario in directed::scenarios() {
        run(&scenario).unwrap_or_else(|failure| panic!("{}", describe(&scenario, failure)));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..5 {
        let first = expect_ok(seed, STEPS);
        assert_eq!(first, expect_ok(seed, STEPS), "seed {seed}");
        assert_ne!(first, expect_ok(seed + 1, STEPS), "seeds {seed} and {}", seed + 1);
    }
}
