//! Exclusive claims in the simulator. The protocol of `beads_store` runs on machines with diverging wall
//! clocks, over a network that loses, repeats and delays requests. The oracle checks that no bead is ever
//! held by two confirmed claims at once, that a bead is not handed out by a confirmed claim after it was closed
//! on the remote or under another confirmed claim, that nothing acknowledged is lost, and that in the end every
//! open bead can be claimed.

mod claiming;
mod clock;
mod connection;
mod exchanging;
mod node;
mod objects;
mod oracle;
mod run;
mod scenario;

pub use scenario::ClaimScenario;

/// The seeds of the default run: all below this one.
pub const SEEDS: u64 = 300;
/// The number of steps per seed.
pub const STEPS: usize = 120;

/// Runs one seed. `Ok` is the trace; `Err` is a report with the seed and a shrunk trace.
pub fn run_seed(seed: u64, steps: usize) -> Result<Vec<String>, String> {
    let scenario = ClaimScenario::from_seed(seed, steps);
    scenario.run().map_err(|failure| scenario.describe(failure))
}
