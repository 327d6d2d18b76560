//! The ordinary run of the simulator.

use beads_sim::run_seed;

const SEEDS: u64 = 100;
const STEPS: usize = 150;

#[test]
fn a_hundred_seeds_lose_nothing() {
    for seed in 0..SEEDS {
        if let Err(report) = run_seed(seed, STEPS) {
            panic!("{report}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..5 {
        let first = run_seed(seed, STEPS).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(Ok(first.clone()), run_seed(seed, STEPS), "seed {seed}");
        assert_ne!(Ok(first), run_seed(seed + 1, STEPS), "seeds {seed} and {}", seed + 1);
    }
}
