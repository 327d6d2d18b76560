//! Room for open files. A daemon that cannot open one more accepts no connection, and its clients would wait until their deadlines.

use std::fs::File;

use rustix::io::Errno;

use crate::failure::{Code, Failure};

/// The open files a daemon needs beyond those of an opened store: a few clients, a save and an exchange at the same time.
const NEEDED: usize = 24;

/// Fails unless this process can open as many more files as a daemon needs.
pub fn require() -> Result<(), Failure> {
    let opened: std::io::Result<Vec<File>> = (0..NEEDED).map(|_| open()).collect();
    opened.map(drop).map_err(|error| {
        let message = format!(
            "the limit on open files leaves too few for a daemon ({error}); raise it: `ulimit -n 1024`"
        );
        Failure::new(Code::DaemonUnreachable, message)
    })
}

/// A descriptor kept back, so that one more client can be accepted and refused when there is no other left.
#[derive(Debug)]
pub struct Spare(Option<File>);

impl Spare {
    pub fn keep() -> Self {
        Self(open().ok())
    }

    /// Frees the descriptor for the next connection. Returns whether there was one.
    pub fn release(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Takes a descriptor back as soon as there is one.
    pub fn refill(&mut self) {
        if self.0.is_none() {
            *self = Self::keep();
        }
    }
}

/// Whether an error means that there is no descriptor left.
pub fn is_exhausted(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

fn open() -> std::io::Result<File> {
    File::open("/dev/null")
}
