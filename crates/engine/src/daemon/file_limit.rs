//! Handles the limit on open files. A daemon without a free descriptor cannot accept connections, and its
//! clients would wait until their deadlines.

use std::fs::File;

use rustix::io::Errno;

use crate::failure::{Code, Failure};

/// The descriptors a daemon needs in addition to those of an open store: for a few clients, a save and an
/// exchange.
const NEEDED: usize = 24;

/// Fails unless this process can open as many more files as a daemon needs.
pub fn require_free_descriptors() -> Result<(), Failure> {
    let opened: std::io::Result<Vec<File>> = (0..NEEDED).map(|_| open()).collect();
    opened.map(drop).map_err(|error| {
        let message = format!(
            "the limit on open files is too low for a daemon ({error}); raise it with `ulimit -n 1024`"
        );
        Failure::new(Code::DaemonUnreachable, message)
    })
}

/// A reserved descriptor, so that one more client can be accepted and refused when no other descriptor is
/// left.
#[derive(Debug)]
pub struct SpareDescriptor(Option<File>);

impl SpareDescriptor {
    /// Reserves a descriptor, if one is free.
    pub fn open() -> Self {
        Self(open().ok())
    }

    /// Frees the descriptor for the next connection. Returns whether there was one.
    pub fn release(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Reserves a descriptor again, if it was released and one is free.
    pub fn refill(&mut self) {
        if self.0.is_none() {
            *self = Self::open();
        }
    }
}

/// Returns whether an error means that no descriptor is left.
pub fn is_exhausted(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

fn open() -> std::io::Result<File> {
    File::open("/dev/null")
}
