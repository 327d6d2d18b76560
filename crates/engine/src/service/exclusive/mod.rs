//! Exclusive claims: a ref on the remote decides who gets a bead (docs/FLEET.md). The protocol itself is in
//! `beads_store`; this module connects it to requests, settings and files.

mod claim_refs;
mod confirmed;
mod job;
mod outcome;
mod round;
mod scope;
mod upkeep;

pub use claim_refs::ClaimRefs;
pub(super) use job::is_claim;
pub use job::{ClaimJob, Picked};
pub use outcome::NextStep;
pub use round::{ClaimRound, RoundResult};
