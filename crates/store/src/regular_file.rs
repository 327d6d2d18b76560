//! Opens files that other programs chose, without ever waiting for one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file to read. Anything else is refused: opening a pipe waits for its other end, and reading a device may
/// never end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // A pipe is opened at once with this, and seen to be one below. Regular files ignore it.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// The reason why a pipe, a device, a socket or a directory is not opened.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        std::fs::write(&file, "x").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(open_regular(&file).is_ok());
        for path in [pipe.as_path(), dir.path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert_eq!(open_regular(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
    }
}
