//! A progress line on standard error during a long operation.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use beads_engine::request::Call;

const INTERVAL: Duration = Duration::from_millis(200);

/// A progress line that is shown until this value is dropped, and then erased.
#[derive(Debug)]
pub struct Progress {
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Shows the line. No-op unless stderr is a terminal.
    pub fn show(what: String, quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        let start = || {
            let (stop, stopped) = mpsc::channel();
            let thread = std::thread::spawn(move || show_elapsed(&mut std::io::stderr(), &what, &stopped));
            (stop, thread)
        };
        Self { shown: visible.then(start) }
    }
}

/// Shows a line while a call waits for a bead or for the remote.
pub fn while_waiting(call: &Call, quiet: bool) -> Option<Progress> {
    let what = match call {
        Call::Wait { call: waiting, .. } => {
            let what = if waiting.mutates() { "a bead to claim" } else { "a ready bead" };
            format!("waiting up to {} s for {what}", call.wait().as_secs())
        }
        Call::Sync => "syncing with the remote".to_owned(),
        _ => return None,
    };
    Some(Progress::show(what, quiet))
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

fn show_elapsed(out: &mut impl Write, what: &str, stopped: &Receiver<()>) {
    let start = Instant::now();
    loop {
        let _ = write!(out, "\r{what}, {} s\x1b[K", start.elapsed().as_secs()).and_then(|()| out.flush());
        if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let _ = write!(out, "\r\x1b[K").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_wait_have_a_line() {
        assert!(while_waiting(&Call::Sync, true).is_some());
        let wait = Call::Heartbeat.waiting(Some(Duration::from_secs(5)));
        assert!(while_waiting(&wait, true).is_some());
        assert!(while_waiting(&Call::Heartbeat, true).is_none());
    }

    #[test]
    fn the_line_is_shown_and_erased() {
        let (stop, stopped) = mpsc::channel();
        drop(stop);
        let mut out = Vec::new();
        show_elapsed(&mut out, "importing x", &stopped);
        assert_eq!(String::from_utf8_lossy(&out), "\rimporting x, 0 s\x1b[K\r\x1b[K");
    }
}
