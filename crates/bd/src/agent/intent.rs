//! What a command is about to write when it has to write more than one file.
//!
//! The intent is made durable first, then carried out, then removed. A process killed in between leaves it behind, and
//! the next command that takes the lock finishes the work: so a message is in the index exactly when it is in the
//! inbox, a broadcast reaches all or none, and a reservation leaves `active.json` exactly when it enters the history.
//! It names records, never paths: nothing in this file can make us write outside the store.

use serde::{Deserialize, Serialize};

use super::message::Message;
use super::reservation::Reservation;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// New messages: each into the index and into the log of its recipient.
    Deliver(Vec<Message>),
    /// Reservations that end go into the history, then these are the active ones.
    End { ended: Vec<Reservation>, active: Vec<Reservation> },
}
