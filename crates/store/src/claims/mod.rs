//! Exclusive claims without the service around them: what is offered to the remote, what its answer means, which refs are
//! ended, renewed, confirmed and deleted, and when a claim counts as confirmed. The engine and the simulator run this code.

mod book;
mod outcome;
mod own;
mod round;
mod standing;
mod upkeep;
mod uptime;
mod watch;
mod withdraw;

pub use book::{Attempt, ClaimBook, Upkept};
pub use outcome::Outcome;
pub use own::Own;
pub use round::{ClaimObjects, Round, RoundResult};
pub use upkeep::{Upkeep, UpkeepResult};
pub use uptime::{Steady, SystemUptime, Uptime};
pub use watch::{Watch, Watched};
pub use withdraw::withdraw;
