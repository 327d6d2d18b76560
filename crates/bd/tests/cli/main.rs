//! The command line from outside: real processes, real daemons, real repositories. What a test says about behaviour
//! is said twice, once with a daemon and once without.

#![allow(clippy::unwrap_used, reason = "in a test a failed unwrap is the failure")]

mod bad_input;
mod batch;
mod blocked;
mod claim;
mod claim_next;
mod clients;
mod close;
mod concurrency;
mod config;
mod count;
mod crash;
mod create;
mod create_graph;
mod daemon;
mod delete;
mod dep;
mod epic;
mod export;
mod graph;
mod guard;
mod ids;
mod import;
mod init;
mod label;
mod list;
mod mcp;
mod model;
mod no_git;
mod note;
mod place;
mod plan;
mod protocol;
mod ready;
mod remotes;
mod reopen;
mod sandbox;
mod schema;
mod search;
mod show;
mod socket;
mod stale;
mod status;
mod sync;
mod terminal;
mod text;
mod tool;
mod tool_files;
mod update;
mod validate;
mod verbosity;
mod version;
