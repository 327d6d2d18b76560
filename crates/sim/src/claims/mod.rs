//! Exclusive claims in the simulator: the protocol of `beads_store` runs on machines whose wall clocks are apart, over a
//! network that loses, repeats and delays requests. The oracle: no bead is ever held by two confirmed claims at once, a bead
//! that was closed on the remote is not handed out by a confirmed claim, nothing that was acknowledged is lost, and in the
//! end everything open can be claimed.

mod claiming;
mod clock;
mod exchanging;
mod line;
mod node;
mod objects;
mod oracle;
mod play;
mod scenario;

pub use scenario::ClaimScenario;

/// What the ordinary run plays.
pub const SEEDS: u64 = 300;
pub const STEPS: usize = 120;

/// Runs one seed. `Ok` is what happened, step by step; `Err` is a report with the seed and a shrunk trace.
pub fn run_seed(seed: u64, steps: usize) -> Result<Vec<String>, String> {
    let scenario = ClaimScenario::from_seed(seed, steps);
    scenario.run().map_err(|(message, trace)| scenario.describe(message, trace))
}
