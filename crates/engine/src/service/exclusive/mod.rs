//! Exclusive claims: a ref on the remote decides who gets a bead (docs/FLEET.md). What is decided without a service, and the
//! talk with the remote, is in `beads_store`; here is what requests, settings and files have to do with it.

mod confirmed;
mod job;
mod own;
mod round;
mod scope;
mod settle;
mod upkeep;

pub(super) use job::is_claim;
pub use job::{ClaimJob, Picked};
pub use own::ClaimRefs;
pub use round::{ClaimRound, RoundResult};
pub use settle::Settled;
