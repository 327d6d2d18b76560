//! The simulator, which is never shipped. It runs the real replica and the real sync loop on a simulated
//! disk, repository, remote and clock. One seed gives one run.
//!
//! A [`Scenario`] is fully determined by its seed before it starts. [`run`] plays it, and oracles check the
//! result: nothing acknowledged is lost, and after healing all replicas hold the same bytes. A failing
//! scenario is shrunk to the steps that matter.

pub mod claims;
pub mod default_seeds;
pub mod directed;
pub mod drain;
pub mod faults;
pub mod fleet;
pub mod hub;
pub mod ledger;
pub mod scenario;

mod activities;
mod archive;
mod causality;
mod clocks;
mod dice;
mod disk;
mod machine;
mod mutation;
mod remote;
mod repository;
mod run;
mod shrink;
mod step;
mod timeline;
mod world;

pub use dice::Dice;
pub use disk::SimDisk;
pub use faults::{Fault, FaultKind, Faults};
pub use machine::Machine;
pub use repository::SimRepository;
pub use run::{Failure, run};
pub use scenario::Scenario;
pub use shrink::describe;
pub use world::SimWorld;

/// Runs one seed. `Err` is a report with the seed and the trace of a shrunk scenario.
pub fn run_seed(seed: u64, steps: usize) -> Result<String, String> {
    let scenario = Scenario::from_seed(seed, steps);
    run(&scenario).map_err(|failure| describe(&scenario, failure))
}
