//! The daemon: one process per store that holds the lock and answers everybody on the machine (DESIGN §7).

mod claimer;
mod connection;
mod engine;
mod file_requests;
mod imports;
mod long_answers;
mod planted;
mod room;
mod run;
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
use crate::wire::version_numbers;

/// Requests and replies may be this long; past it the connection is refused.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;
/// Open connections; one more is told `busy`.
pub const MAX_CONNECTIONS: usize = 2_048;
/// Requests waiting for their turn; one more is told `busy`.
pub const MAX_QUEUE: usize = 8_192;
/// Requests that wait for something to happen; one more is told `busy`.
pub const MAX_WAITERS: usize = 1_024;
/// Long questions waiting for a thread to answer them; one more is told `busy`.
pub const MAX_LONG_QUESTIONS: usize = 256;
/// Bytes of the replies that wait for one sync of the journal; past it the next request waits for the next sync.
pub const MAX_BATCH_BYTES: usize = 16 * 1024 * 1024;
/// Requests that share one sync of the journal.
pub const MAX_BATCH: usize = 1_024;
/// Bytes of replies that clients have asked for and not read; a long reply past it is replaced by `busy`.
pub const MAX_UNREAD_BYTES: usize = 256 * 1024 * 1024;
/// How long a client may take nothing of a reply before the connection is closed.
pub const SEND_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// How long a client may take to send a frame once it has begun.
pub const FRAME_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// Turns a forwarded command line into the call that it asks for. The command line's syntax belongs to the front end, so the
/// front end that runs the daemon passes its parser in.
pub type ReadCommand = fn(Request) -> Result<Request, Failure>;

/// The version clients and daemons compare.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether `theirs` is a later version than ours. Versions that cannot be read count as equal.
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
