//! Archiving and restoring among writes, crashes and syncs.

use beads_sim::default_seeds::STEPS;
use beads_sim::run_seed;

/// The seeds that archive, beyond those of the default run.
#[test]
fn archived_beads_are_in_the_store_or_in_the_archive() {
    for seed in (1..1200).step_by(8) {
        run_seed(seed, STEPS).unwrap_or_else(|report| panic!("{report}"));
    }
}
