//! The binaries `bd` and `bb`. A command line becomes a [`request::Request`]; whoever holds the store's lock, the
//! daemon or the command itself, answers it through one [`service::Service`]; the reply is printed as it comes.
//! [`tool`] asks the same service for programs that speak JSON. [`agent`] is the other half: identity, mail and reservations in plain files.

pub mod agent;
mod begin;
pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod dialect;
pub mod escape;
pub mod failure;
mod hyphen_values;
pub mod mcp;
mod names;
pub mod place;
pub mod render;
mod replace_file;
pub mod request;
pub mod service;
pub mod setup;
pub mod tool;

pub use begin::begin;
