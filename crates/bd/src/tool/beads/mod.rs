//! Tools on beads, one a file.

pub mod claim;
pub mod close;
pub mod conflicts;
pub mod create;
pub mod delete;
pub mod dep_add;
pub mod dep_remove;
pub mod dep_tree;
mod dependency;
pub mod export;
mod filter;
mod guard;
pub mod import;
pub mod list;
pub mod note_add;
mod output;
pub mod ready;
pub mod reopen;
pub mod restore;
pub mod search;
pub mod show;
pub mod sync;
mod time;
pub mod update;
pub mod validate;
pub mod watch;
