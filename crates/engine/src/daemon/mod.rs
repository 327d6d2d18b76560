//! The daemon: one process per store that holds the lock and answers all clients of its user (DESIGN §7).

mod claimer;
mod connection;
mod engine;
mod file_limit;
mod file_requests;
mod hub;
mod hub_announcements;
mod hub_claims;
mod hub_worker;
mod imports;
mod long_answers;
mod planted;
mod reconnect;
mod rescues;
mod run;
mod save_budget;
mod saver;
mod socket;
mod start;
mod syncing;
mod undelivered;
mod waiters;

pub use run::{RunOptions, run};
pub use socket::SocketPath;
pub use start::{Started, program, start};

use crate::failure::Failure;
use crate::request::Request;
use crate::version_numbers::version_numbers;

/// The maximum length of a request or a reply line. The connection of a longer request is closed.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;
/// The maximum number of open connections. Further requests fail with `busy`.
pub const MAX_CONNECTIONS: usize = 2_048;
/// The maximum number of queued requests. Further requests fail with `busy`.
pub const MAX_QUEUE: usize = 8_192;
/// The maximum number of requests that wait for a result. Further ones fail with `busy`.
pub const MAX_WAITERS: usize = 1_024;
/// The maximum number of long queries that wait for a thread. Further ones fail with `busy`.
pub const MAX_LONG_QUESTIONS: usize = 256;
/// The maximum size of the replies in one batch. Once it is exceeded, the next request goes into the next
/// batch.
pub const MAX_BATCH_BYTES: usize = 16 * 1024 * 1024;
/// The maximum number of requests in one batch, which shares one sync of the journal.
pub const MAX_BATCH: usize = 1_024;
/// The maximum size of replies that clients have not read yet. A long reply that would exceed it is replaced
/// by `busy`.
pub const MAX_UNREAD_BYTES: usize = 256 * 1024 * 1024;
/// How long a client may stop reading a reply before its connection is closed.
pub const SEND_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// How long a client may take to send a request once it has begun.
pub const FRAME_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// Parses a forwarded command line into a call. The syntax of the command line belongs to the front end, so
/// the front end passes its parser to the daemon.
pub type ReadCommand = fn(Request) -> Result<Request, Failure>;

/// The version that clients and daemons compare.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns whether `theirs` is a later version than ours. An invalid version is not.
fn is_newer(theirs: &str) -> bool {
    version_numbers(theirs) > version_numbers(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_version_replaces_a_daemon() {
        assert!(is_newer("999.0.0"));
        assert!(!is_newer(VERSION));
        assert!(!is_newer("0.0.1"));
        assert!(!is_newer("nonsense"));
    }
}
