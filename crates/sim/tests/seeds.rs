//! The ordinary run of the simulator, and the seeds that once found something.

use beads_sim::ordinary::{ONCE_BROKEN, SEEDS, STEPS};
use beads_sim::{describe, directed, run, run_seed};

fn expect_sound(seed: u64, steps: usize) -> String {
    run_seed(seed, steps).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn even_seeds_lose_nothing() {
    (0..SEEDS).step_by(2).for_each(|seed| drop(expect_sound(seed, STEPS)));
}

#[test]
fn odd_seeds_lose_nothing() {
    (1..SEEDS).step_by(2).for_each(|seed| drop(expect_sound(seed, STEPS)));
}

#[test]
fn what_was_once_broken_stays_mended() {
    for (seed, steps) in ONCE_BROKEN {
        expect_sound(seed, steps);
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
        let first = expect_sound(seed, STEPS);
        assert_eq!(first, expect_sound(seed, STEPS), "seed {seed}");
        assert_ne!(first, expect_sound(seed + 1, STEPS), "seeds {seed} and {}", seed + 1);
    }
}
