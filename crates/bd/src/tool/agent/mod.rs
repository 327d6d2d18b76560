//! Tools on the agents' store, one per file.

pub mod ack;
pub mod guard;
pub mod inbox;
pub mod list;
mod output;
pub mod read;
pub mod register;
pub mod release;
pub mod reserve;
pub mod send;
pub mod show;
pub mod status;
