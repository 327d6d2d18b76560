//! Exclusive claims: a ref on the remote decides who gets a bead (docs/FLEET.md). Everything here works in memory and on small
//! files; what talks to the remote is in [`round`] and [`upkeep`], which run in threads of their own.

mod confirmed;
mod job;
mod own;
mod round;
mod scope;
mod settle;
mod upkeep;
mod watch;

pub(super) use job::is_claim;
pub use job::{ClaimJob, Picked};
pub use own::ClaimRefs;
pub use round::{ClaimRound, RoundResult};
pub use settle::Settled;
pub use upkeep::{Upkeep, UpkeepResult};
