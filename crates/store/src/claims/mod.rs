//! Exclusive claims, independent of the service: which values are pushed to the remote, what its answers
//! mean, which refs are ended, renewed, confirmed and deleted, and when a claim is confirmed. The engine and
//! the simulator both run this code.

mod book;
mod claim_status;
mod outcome;
mod own;
mod round;
mod upkeep;
mod uptime;
mod watch;
mod withdraw;

pub use book::{Attempt, ClaimBook, UpkeepReport};
pub use outcome::Outcome;
pub use own::OwnClaim;
pub use round::{ClaimObjects, Round, RoundResult};
pub use upkeep::{Upkeep, UpkeepResult};
pub use uptime::{SteadyClock, SystemUptime, Uptime};
pub use watch::{Watch, Watched};
pub use withdraw::withdraw;
