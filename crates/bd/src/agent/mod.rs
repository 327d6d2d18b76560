//! `bb agent`: identity, mail and reservations for agents that share a repository (`docs/BB.md`).
//!
//! Each verb has its own file with a typed input and one function, which takes a [`store::Store`] and the
//! input and returns a record or an [`error::Error`]. Only [`cli`] prints. No daemon is needed: the store is
//! a directory of plain files under one lock.

pub mod ack;
mod addressed;
pub mod agent_id;
pub mod agent_record;
mod bead_id;
pub mod bounds;
pub mod cli;
pub mod clock;
mod commit;
pub mod doctor;
pub mod envelope;
pub mod error;
mod failure;
mod files;
mod glob;
pub mod guard;
pub mod heartbeat;
pub mod inbox;
mod intent;
pub mod list;
pub mod mailbox;
pub mod message;
pub mod moment;
mod print;
pub mod read;
pub mod receipt;
pub mod register;
pub mod release;
pub mod reservation;
pub mod reserve;
pub mod root;
pub mod scope;
pub mod send;
pub mod show;
pub mod status;
pub mod store;

#[cfg(test)]
mod crash_tests;
