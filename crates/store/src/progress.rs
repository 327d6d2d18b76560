//! How far a long operation has come, for a client that shows it.
//!
//! A process serves one store, so each operation has one meter. Transports record where they are; another
//! thread reads the last position.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The sync that a client asked for.
pub static SYNC: Meter = Meter::new();

/// What an operation is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Collecting the objects to transfer.
    Preparing,
    /// Receiving objects.
    Receiving,
    /// Indexing the received objects.
    Indexing,
    /// Sending objects.
    Sending,
    /// Reading files.
    Reading,
    /// Applying changes to the store.
    Applying,
}

/// The position in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The current step.
    pub step: Step,
    /// How many units are done.
    pub done: u64,
    /// How many units there are.
    pub total: u64,
}

/// The last position of an operation. Positions are only recorded while the meter is watched.
#[derive(Debug)]
pub struct Meter {
    watchers: AtomicUsize,
    last: Mutex<Option<Position>>,
}

impl Meter {
    /// Returns a meter that is not watched.
    #[allow(clippy::new_without_default)] // only for statics
    pub const fn new() -> Self {
        Self { watchers: AtomicUsize::new(0), last: Mutex::new(None) }
    }

    /// Records positions until the returned value is dropped.
    pub fn watch(&'static self) -> Watched {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        Watched(self)
    }

    /// Returns whether a client may ask for the position.
    pub fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Records a position.
    pub fn record(&self, step: Step, done: u64, total: u64) {
        if self.is_watched() && total > 0 {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Position { step, done: done.min(total), total });
        }
    }

    /// Returns the last position, if there is one.
    pub fn last(&self) -> Option<Position> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a meter recording.
#[derive(Debug)]
pub struct Watched(&'static Meter);

impl Drop for Watched {
    fn drop(&mut self) {
        if self.0.watchers.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// Finds the progress messages in git's standard error, which arrives in parts.
#[derive(Debug, Default)]
pub(crate) struct GitMessages {
    line: Vec<u8>,
}

/// The longest progress message. Longer lines are something else.
const MAX_MESSAGE: usize = 200;

impl GitMessages {
    /// Takes the next part and records the positions that it completes.
    pub(crate) fn take(&mut self, part: &[u8], meter: &Meter) {
        for byte in part {
            if !matches!(byte, b'\r' | b'\n') {
                if self.line.len() < MAX_MESSAGE {
                    self.line.push(*byte);
                }
                continue;
            }
            if let Some(position) = parse(&String::from_utf8_lossy(&self.line)) {
                meter.record(position.step, position.done, position.total);
            }
            self.line.clear();
        }
    }
}

/// Parses a message such as `Receiving objects:  45% (9/20), 1.2 MiB | 3 MiB/s`.
fn parse(line: &str) -> Option<Position> {
    let (title, rest) = line.trim_start_matches("remote: ").split_once(": ")?;
    let step = step_of(title)?;
    let (_, counts) = rest.split_once("% (")?;
    let (done, total) = counts.split_once(')')?.0.split_once('/')?;
    Some(Position { step, done: done.parse().ok()?, total: total.parse().ok()? })
}

/// Returns the step that a progress message of git is about.
fn step_of(title: &str) -> Option<Step> {
    match title {
        "Counting objects" | "Compressing objects" => Some(Step::Preparing),
        "Receiving objects" | "Unpacking objects" => Some(Step::Receiving),
        "Resolving deltas" => Some(Step::Indexing),
        "Writing objects" => Some(Step::Sending),
        _ => None,
    }
}

/// Returns whether a line of git's standard error only reports progress.
pub(crate) fn is_progress(line: &str) -> bool {
    let line = line.trim_start_matches("remote: ");
    let title = line.split(':').next().unwrap_or_default();
    step_of(title).is_some()
        || ["Enumerating objects:", "Delta compression using", "Total ", "From "]
            .iter()
            .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn positions_are_recorded_only_while_watched() {
        static METER: Meter = Meter::new();
        METER.record(Step::Sending, 1, 2);
        assert_eq!(METER.last(), None);
        let watched = METER.watch();
        METER.record(Step::Sending, 3, 2);
        assert_eq!(METER.last(), Some(Position { step: Step::Sending, done: 2, total: 2 }));
        METER.record(Step::Receiving, 0, 0);
        assert_eq!(METER.last().unwrap().step, Step::Sending, "nothing of nothing is not a position");
        drop(watched);
        assert_eq!(METER.last(), None);
    }

    #[test]
    fn messages_of_git_are_found_across_parts() {
        static METER: Meter = Meter::new();
        let _watched = METER.watch();
        let mut messages = GitMessages::default();
        let mut after = |part: &str| {
            messages.take(part.as_bytes(), &METER);
            METER.last().map(|position| (position.step, position.done, position.total))
        };
        assert_eq!(after("remote: Enumerating objects: 20, done.\nremote: Counting obj"), None);
        assert_eq!(after("ects:   5% (1/20)\r"), Some((Step::Preparing, 1, 20)));
        assert_eq!(
            after("Receiving objects:  45% (9/20), 1.20 MiB | 3.00 MiB/s"),
            Some((Step::Preparing, 1, 20))
        );
        assert_eq!(after("\r12:00:00.1 http.c:872 <= Recv data\n"), Some((Step::Receiving, 9, 20)));
        assert_eq!(after("Resolving deltas: 100% (4/4), done.\n"), Some((Step::Indexing, 4, 4)));
        assert_eq!(after("Writing objects:  50% (1/2)\rfatal: no\n"), Some((Step::Sending, 1, 2)));
        assert_eq!(after("Writing objects: 50% (x/2)\r: : % (\n"), Some((Step::Sending, 1, 2)));
    }
}
