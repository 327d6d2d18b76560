//! Realistic data to start from, written by a machine of the simulator.

use beads_sim::{Dice, Machine};

const NOW_MS: u64 = 1_700_000_000_000;

/// Returns a machine with a ref and a journal.
pub fn machine_with_history(seed: u64) -> Machine {
    let mut machine = Machine::new(seed, NOW_MS);
    let mut dice = Dice::new(seed);
    machine.open().expect("nothing fails here");
    for _ in 0..5 {
        machine.mutate(20, &mut dice).expect("nothing fails here");
        machine.commit().expect("nothing fails here");
    }
    machine
}
