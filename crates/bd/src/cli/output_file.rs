//! An output file that the user named. It is written by this process, not by the daemon.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use beads_engine::failure::Failure;
use beads_store::Replacement;

/// An output file that is opened before the work starts, so that an unwritable path fails early.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    to: To,
}

#[derive(Debug)]
enum To {
    /// A regular file, replaced atomically at the end.
    File(Replacement),
    /// A pipe or a device, written to directly.
    Special(File),
}

impl OutputFile {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::io("write", path, &error);
        let is_special = std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        let to = if is_special {
            To::Special(OpenOptions::new().write(true).open(path).map_err(failed)?)
        } else {
            To::File(Replacement::begin(path).map_err(failed)?)
        };
        Ok(Self { path: path.to_owned(), to })
    }

    pub fn finish(self, content: &[u8]) -> Result<(), Failure> {
        let written = match self.to {
            To::File(mut file) => file.write_all(content).and_then(|()| file.finish()),
            To::Special(mut file) => file.write_all(content),
        };
        written.map_err(|error| Failure::io("write", &self.path, &error))
    }
}

/// Returns whether a path names this process's standard output, as `/dev/stdout` does.
pub fn is_standard_output(path: &Path) -> bool {
    let Ok(there) = std::fs::metadata(path) else { return false };
    let ours = rustix::fs::fstat(io::stdout());
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types differ between systems, and the standard library casts them, too"
    )]
    ours.is_ok_and(|ours| (ours.st_dev as u64, ours.st_ino as u64) == (there.dev(), there.ino()))
}
