//! Cancels a request from another thread, by closing its connection. The daemon then treats the request as
//! abandoned.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A token shared by the thread that waits for a request and the thread that may cancel it.
#[derive(Debug, Default)]
pub struct CancelToken(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    stream: Option<UnixStream>,
}

impl CancelToken {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the current request and every later one.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.cancelled = true;
        if let Some(stream) = state.stream.take() {
            // It does not matter if the stream is already closed.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns whether the token was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Registers the connection of a request that is about to begin. Returns `false` if it must not begin.
    pub fn connect(&self, stream: &UnixStream) -> bool {
        let mut state = self.state();
        state.stream = stream.try_clone().ok();
        !state.cancelled
    }

    /// Unregisters the connection once the request has its reply.
    pub fn disconnect(&self) {
        self.state().stream = None;
    }
}
