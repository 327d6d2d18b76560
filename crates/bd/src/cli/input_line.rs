//! Reads standard input as lines of bounded length.

use std::io::{BufRead, Read};

use beads_engine::daemon::MAX_FRAME_BYTES;
use beads_engine::failure::{Code, Failure};

/// Reads the next line that is not blank. Returns `None` at the end of the input.
pub fn next_line(stdin: &mut impl BufRead) -> Result<Option<Vec<u8>>, Failure> {
    loop {
        let mut line = Vec::new();
        let read = stdin.by_ref().take(MAX_FRAME_BYTES as u64 + 1).read_until(b'\n', &mut line);
        read.map_err(|error| Failure::new(Code::IoError, format!("cannot read standard input: {error}")))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > MAX_FRAME_BYTES {
            return Err(too_large("a line"));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(line));
        }
    }
}

/// Returns the failure for input that no frame can hold.
pub fn too_large(what: &str) -> Failure {
    Failure::new(Code::TooLarge, format!("{what} is larger than {} MiB", MAX_FRAME_BYTES / 1024 / 1024))
}
