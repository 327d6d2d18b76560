//! The front ends of the binaries `bd` and `bb`: syntax and envelopes, and nothing else. [`cli`] turns a
//! command line into a [`beads_engine::request::Request`], [`tool`] does the same for programs that speak
//! JSON, and [`mcp`] for coding agents. [`setup`] configures coding agents to use `bd`, and [`hook`] answers
//! their hooks. [`board`] serves the store to a browser and [`top`] shows it in a terminal. [`agent`] is
//! `bb agent`: identity, mail and reservations in plain files.

pub mod agent;
pub mod board;
pub mod cli;
mod entry_point;
mod environment;
#[cfg(folds_identical_functions)]
mod foldable;
mod hook;
mod hyphen_values;
mod installation;
pub mod mcp;
mod moment;
pub mod operations;
mod print;
pub mod setup;
pub mod tool;
mod top;

pub use entry_point::run_main;
