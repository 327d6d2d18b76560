//! A way to leave a request that another thread waits for: its connection is closed, and the daemon takes the request
//! for abandoned.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared between the thread that waits and the one that may lose patience.
#[derive(Debug, Default)]
pub struct Hangup(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    hung_up: bool,
    stream: Option<UnixStream>,
}

impl Hangup {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the request under way, and every later one.
    pub fn hang_up(&self) {
        let mut line = self.line();
        line.hung_up = true;
        if let Some(stream) = line.stream.take() {
            // A stream that is closed already has no more to say.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn is_hung_up(&self) -> bool {
        self.line().hung_up
    }

    /// Notes the connection of a request that begins; `false` when it should not begin at all.
    pub fn connect(&self, stream: &UnixStream) -> bool {
        let mut line = self.line();
        line.stream = stream.try_clone().ok();
        !line.hung_up
    }

    /// The request has its reply.
    pub fn disconnect(&self) {
        self.line().stream = None;
    }
}
