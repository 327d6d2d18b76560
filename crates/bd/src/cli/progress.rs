//! A progress line on standard error during a long operation.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use beads_engine::client;
use beads_engine::place::Place;
use beads_engine::render::{DaemonStatus, StepProgress};
use beads_engine::request::{Call, Format, Output, Request};
use beads_engine::service::IMPORT;
use beads_store::progress::SYNC;

use super::globals::Globals;

const INTERVAL: Duration = Duration::from_millis(200);

/// How long to wait for a busy daemon to tell its position. The line is updated without it.
const PATIENCE: Duration = Duration::from_millis(500);

/// A progress line that is shown until this value is dropped, and then erased.
#[derive(Debug)]
pub struct Progress {
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

/// An operation whose position is known.
#[derive(Debug, Clone, Copy)]
pub enum Operation {
    Sync,
    Import,
}

impl Progress {
    /// Shows the line, with a percentage if the position of the operation is known. No-op unless stderr is a
    /// terminal.
    pub fn show(what: String, operation: Option<Operation>, globals: &Globals) -> Self {
        if globals.is_quiet() || !std::io::stderr().is_terminal() {
            return Self { shown: None };
        }
        let store = globals.place().and_then(|place| {
            let request = globals.request(&place, Call::DaemonStatus)?;
            let output = Output { format: Format::Value, ..Output::default() };
            Ok((place, Request { output, session: None, ..request }))
        });
        let (stop, stopped) = mpsc::channel();
        let position = move || {
            let (place, request) = store.as_ref().ok()?;
            operation?.position(place, request)
        };
        let show = move || show_until(&mut std::io::stderr(), &what, position, &stopped);
        Self { shown: Some((stop, std::thread::spawn(show))) }
    }
}

impl Operation {
    /// Returns how far the operation has come, in this process or in the daemon.
    fn position(self, place: &Place, request: &Request) -> Option<StepProgress> {
        let meter = match self {
            Self::Sync => &SYNC,
            Self::Import => &IMPORT,
        };
        if let Some(position) = meter.last() {
            return Some(position.into());
        }
        let reply = client::ask_running(place, request, PATIENCE).ok().flatten()?;
        let status: DaemonStatus = serde_json::from_str(reply.result?.get()).ok()?;
        match self {
            Self::Sync => status.sync,
            Self::Import => status.import,
        }
    }
}

/// Shows a line while a call waits for a bead or for the remote.
pub fn while_waiting(call: &Call, globals: &Globals) -> Option<Progress> {
    let (what, operation) = match call {
        Call::Wait { call: waiting, .. } => {
            let what = if waiting.mutates() { "a bead to claim" } else { "a ready bead" };
            (format!("waiting up to {} s for {what}", call.wait().as_secs()), None)
        }
        Call::Sync => ("syncing with the remote".to_owned(), Some(Operation::Sync)),
        _ => return None,
    };
    Some(Progress::show(what, operation, globals))
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

fn show_until(
    out: &mut impl Write,
    what: &str,
    mut position: impl FnMut() -> Option<StepProgress>,
    stopped: &Receiver<()>,
) {
    let start = Instant::now();
    loop {
        let step = position().map(|position| format!(": {position}")).unwrap_or_default();
        let _ =
            write!(out, "\r{what}{step}, {} s\x1b[K", start.elapsed().as_secs()).and_then(|()| out.flush());
        if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let _ = write!(out, "\r\x1b[K").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use beads_store::progress::{Position, Step};

    use super::*;

    #[test]
    fn only_calls_that_wait_have_a_line() {
        let globals = Globals::default();
        assert!(while_waiting(&Call::Sync, &globals).is_some());
        let wait = Call::Heartbeat.waiting(Some(Duration::from_secs(5)));
        assert!(while_waiting(&wait, &globals).is_some());
        assert!(while_waiting(&Call::Heartbeat, &globals).is_none());
    }

    #[test]
    fn the_line_is_shown_and_erased() {
        let (stop, stopped) = mpsc::channel();
        drop(stop);
        let mut out = Vec::new();
        show_until(&mut out, "importing x", || None, &stopped);
        assert_eq!(String::from_utf8_lossy(&out), "\rimporting x, 0 s\x1b[K\r\x1b[K");
        out.clear();
        let half = || Some(Position { step: Step::Reading, done: 499, total: 1000 }.into());
        show_until(&mut out, "importing x", half, &stopped);
        assert_eq!(String::from_utf8_lossy(&out), "\rimporting x: reading 49 %, 0 s\x1b[K\r\x1b[K");
    }
}
