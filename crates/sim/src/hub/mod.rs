//! Machines that share a hub, in the simulator: the real replica, [`HubSession`](beads_store::hub::HubSession)
//! and compaction, over a connection that loses, repeats and delays messages, with a hub whose standby lags
//! behind.
//!
//! The oracle checks that no bead is held by two machines at once, that every acknowledged write is present or
//! among the conflicts, that all replicas are equal in the end and equal to the join of all that any of them
//! ever had (which is what a sync over Git yields), that nothing is appended twice, that an offer can be taken, that a machine which
//! comes back starts no epoch, and that the hub keeps nothing that is no longer needed.

mod closing;
mod connection;
mod far_hub;
mod fleet;
mod folds;
mod node;
mod run;
mod scenario;
mod server;

pub use fleet::{HubDrain, HubDrainReport, HubFleet, HubFleetReport};
pub use run::SNAPSHOTS;
pub use scenario::HubScenario;

/// The seeds of the default run: all below this one.
pub const SEEDS: u64 = 150;
/// The number of steps per seed.
pub const STEPS: usize = 120;

/// A bug that is planted in the hub, to test the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubBug {
    /// Numbers are drawn before the commit, so a delta may become visible after a later one.
    NoGate,
    /// A repeated request is run again.
    RetryWithoutIdentity,
    /// A repeated number gets the first answer, whatever its content.
    PayloadNotCompared,
    /// A promoted standby grants claims as if nothing had happened.
    TimelineIgnored,
    /// A snapshot is read while its parts arrive.
    HalfSnapshotRead,
    /// After a restore, only machines are awaited that were seen lately by the clock of today.
    AwaitedFromNow,
    /// A claim that another machine repeats after a failover counts as one of that machine.
    RepeaterOwnsClaim,
    /// The claim of a bead that was closed stays ended when the bead is reopened.
    EndedForGood,
}

impl HubBug {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NoGate,
        Self::RetryWithoutIdentity,
        Self::PayloadNotCompared,
        Self::TimelineIgnored,
        Self::HalfSnapshotRead,
        Self::AwaitedFromNow,
        Self::RepeaterOwnsClaim,
        Self::EndedForGood,
    ];
}

/// Runs one seed. `Ok` is the trace; `Err` is a report with the seed and a shrunk trace.
pub fn run_seed(seed: u64, steps: usize) -> Result<Vec<String>, String> {
    let scenario = HubScenario::from_seed(seed, steps);
    scenario.run().map_err(|failure| scenario.describe(failure))
}
