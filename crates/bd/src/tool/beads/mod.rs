//! Tools on beads, one a file.

mod cancel;
pub mod claim;
mod close;
pub mod conflicts;
mod create;
mod delete;
mod dep_add;
mod dep_remove;
pub mod dep_tree;
pub mod export;
mod filter;
mod handover;
pub mod import;
pub mod list;
mod note_add;
mod output;
pub mod ready;
mod reopen;
mod restore;
pub mod search;
pub mod show;
pub mod sync;
mod unclaim;
mod update;
pub mod validate;
pub mod watch;
