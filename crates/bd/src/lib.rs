//! The front ends of the binaries `bd` and `bb`: syntax and envelopes, and nothing else. [`cli`] turns a
//! command line into a [`beads_engine::request::Request`], [`tool`] does the same for programs that speak
//! JSON, and [`mcp`] for coding agents. [`setup`] configures coding agents to use `bd`, and [`hook`] answers
//! their hooks. [`agent`] is `bb agent`: identity, mail and reservations in plain files.

pub mod agent;
pub mod cli;
mod entry_point;
mod environment;
mod hook;
mod hyphen_values;
pub mod mcp;
mod moment;
pub mod operations;
mod print;
pub mod setup;
pub mod tool;

pub use entry_point::run_main;
