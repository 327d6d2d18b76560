//! Answers requests on an open beads store: requests, service, rendering, daemon and client.
//!
//! # The path of a request
//!
//! 1. A front end (the command line, a JSON tool, the MCP server) parses its input into a
//!    [`request::Request`].
//! 2. [`client::ask`] sends it to the store's daemon over a Unix socket, starting a daemon if none is
//!    running. If no daemon can run, the steps below run in the client's process, under the store's lock.
//! 3. The daemon ([`daemon::run()`]) collects the requests of all clients into batches, and calls
//!    [`service::Service::answer`] for each. It applies a mutation in memory, or answers a query.
//! 4. [`render`] turns the [`render::Answer`] into text or JSON, which is the [`request::Reply`].
//! 5. [`service::Service::commit`] makes the batch durable with one sync of the journal. Only then are
//!    the replies sent.
//! 6. Later, a [`service::SyncJob`] saves the state to a Git ref and exchanges it with the remote.
//!
//! Steps 3 to 5, without a daemon:
//!
//! ```
//! use beads_engine::place::{Place, PlaceOptions};
//! use beads_engine::{request::Request, service::Service};
//! use beads_store::StoreLock;
//!
//! let dir = tempfile::tempdir().unwrap();
//! let options = PlaceOptions { private: true, start: dir.path().into(), ..PlaceOptions::default() };
//! let place = Place::find(&options)?;
//! let lock = StoreLock::take(&place.lock_path(), std::time::Duration::ZERO)?;
//! let mut service = Service::open(&place, lock)?;
//! let call = r#"{"mutate":{"ops":[{"op":"create","title":"Fix the hang"}]}}"#;
//! let line = format!(r#"{{"client":"1.0.0","actor":"ann","call":{call}}}"#);
//! let request: Request = serde_json::from_str(&line).unwrap();
//! let reply = service.answer(&request);
//! service.commit()?; // The reply may be sent only now.
//! assert!(reply.result.unwrap().get().contains("Fix the hang"));
//! # Ok::<(), beads_engine::failure::Failure>(())
//! ```
//!
//! # Modules
//!
//! - [`request`]: requests and replies. [`wire`] encodes replies.
//! - [`client`], [`conversation`], [`cancel`]: reaching the daemon.
//! - [`daemon`]: the process that serves all clients of a store.
//! - [`service`]: the open store.
//! - [`render`], [`dialect`], [`escape`]: text and JSON.
//! - [`failure`]: errors with their codes, exit statuses and hints.
//! - [`place`], [`config`]: where the store is, and its settings.

#![warn(missing_docs)]

pub mod cancel;
pub mod client;
pub mod config;
pub mod confined;
pub mod conversation;
pub mod daemon;
mod deadline;
pub mod dialect;
pub mod escape;
pub mod failure;
pub mod field_name;
pub mod graph_layout;
pub mod journal_end;
pub mod log;
mod name_lookup;
mod not_writable;
pub mod place;
pub mod render;
pub mod request;
mod request_directory;
mod request_files;
pub mod rescued;
mod runtime_directory;
pub mod scope;
pub mod service;
pub mod session_id;
pub mod session_lock;
mod state_directory;
pub mod streamed_body;
mod version_numbers;
pub mod wire;
