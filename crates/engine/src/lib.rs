//! Answers requests on an open store. A front end turns its input into a [`request::Request`]; the daemon, or the command
//! itself when it holds the store's lock, answers it through one [`service::Service`]; [`render`] turns the answer into text or
//! JSON. [`client`] asks the daemon, and starts it when none is running.

pub mod client;
pub mod config;
pub mod confined;
pub mod conversation;
pub mod daemon;
mod deadline;
pub mod dialect;
pub mod escape;
pub mod failure;
pub mod hangup;
pub mod journal_end;
pub mod log;
mod names;
mod not_writable;
pub mod place;
pub mod render;
pub mod request;
mod request_directory;
mod request_files;
pub mod rescued;
pub mod rest;
mod runtime_directory;
pub mod scope;
pub mod service;
pub mod session_id;
pub mod session_lock;
mod state_directory;
pub mod wire;
