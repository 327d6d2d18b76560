//! The write-ahead record of a command that writes more than one file.
//!
//! The intent is made durable first, then carried out, then removed. If the process is killed in between, the
//! next command that takes the lock finishes the work. So a message is in the index exactly when it is in the
//! inbox, a broadcast reaches all recipients or none, and a reservation leaves `active.json` exactly when it
//! enters the history. An intent names records, never paths, so a forged one cannot make `bb` write outside
//! the store.

use serde::{Deserialize, Serialize};

use super::message::Message;
use super::reservation::Reservation;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Writes each new message to the index and to the log of its recipient.
    Deliver(Vec<Message>),
    /// Appends the ended reservations to the history, then replaces the active ones.
    End { ended: Vec<Reservation>, active: Vec<Reservation> },
}
