//! The front ends of the binaries `bd` and `bb`: syntax and envelopes, and nothing else. [`cli`] turns a command line into a
//! [`beads_engine::request::Request`], [`tool`] does the same for programs that speak JSON, [`mcp`] for coding agents, and
//! [`setup`] introduces `bd` to their harnesses. [`hook`] reads and answers their hooks. [`agent`] is `bb agent`: identity, mail and reservations in plain files.

pub mod agent;
mod begin;
pub mod cli;
mod environment;
mod hook;
mod hyphen_values;
pub mod mcp;
mod moment;
pub mod operations;
mod print;
pub mod setup;
pub mod tool;

pub use begin::begin;
