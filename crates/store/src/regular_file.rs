//! Opens files that other programs chose, without ever blocking.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading. Refuses anything else: opening a pipe blocks until its other end is
/// opened, and reading a device may never end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // With this flag a pipe is opened at once, and detected below. Regular files ignore it.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Returns the error for a pipe, a device, a socket or a directory.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        std::fs::write(&file, "x").unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(open_regular(&file).is_ok());
        for path in [pipe.as_path(), dir.path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert_eq!(open_regular(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
    }
}
