//! Output types of the agents' tools: the records as stored.

pub use crate::agent::agent_record::{Agent, SeenAgent};
pub use crate::agent::guard::Verdict;
pub use crate::agent::message::Message;
pub use crate::agent::reservation::Reservation;
pub use crate::agent::send::Sent;
pub use crate::agent::status::StatusReport;
