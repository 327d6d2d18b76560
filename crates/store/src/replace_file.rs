//! Replaces a file atomically: readers see the old content or the new, never a mix. All files in this project
//! are replaced through this module.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::disk::sync_directory;
use crate::not_regular;

/// The mode of a file that other users may read, as far as the umask allows.
const SHARED: u32 = 0o666;

/// The mode of a file that only its owner may read.
const PRIVATE: u32 = 0o600;

/// The mode of git's objects.
const READ_ONLY: u32 = 0o444;

/// Writes a temporary file beside the target, syncs it, and renames it. If the target is a link, replaces the
/// file it leads to. Refuses a pipe or a device, because opening one may never return.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin(path)?;
    replacement.write_all(content)?;
    replacement.finish()
}

/// The new content of a file, in a temporary file until it is complete.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    temporary: Temporary,
    target: PathBuf,
}

/// A file that is removed on drop unless it was renamed.
#[derive(Debug)]
struct Temporary(Option<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

impl Replacement {
    /// Opens the temporary file, so that an unwritable directory is detected before there is anything to
    /// write.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(not_regular());
        }
        let name = target.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let temporary = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
        let temporary = directory(&target).join(temporary);
        Self::open(target, temporary, SHARED)
    }

    /// Opens `temporary`, which will replace `target`. A link at either path is replaced, never followed.
    pub fn beside(target: &Path, temporary: PathBuf) -> io::Result<Self> {
        Self::open(target.to_owned(), temporary, SHARED)
    }

    /// Like [`beside`](Self::beside), for a file that only its owner may read.
    pub fn private(target: &Path, temporary: PathBuf) -> io::Result<Self> {
        Self::open(target.to_owned(), temporary, PRIVATE)
    }

    /// Like [`beside`](Self::beside), for a file that is never written to again.
    pub(crate) fn read_only(target: &Path, temporary: PathBuf) -> io::Result<Self> {
        Self::open(target.to_owned(), temporary, READ_ONLY)
    }

    /// Copies a whole file into the new content.
    pub(crate) fn copy_from(&mut self, mut source: &File) -> io::Result<()> {
        // The system may copy it without passing it through memory.
        io::copy(&mut source, &mut self.file).map(drop)
    }

    fn open(target: PathBuf, temporary: PathBuf, mode: u32) -> io::Result<Self> {
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // `create_new` does not follow a link planted under this name.
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        Ok(Self { file, temporary: Temporary(Some(temporary)), target })
    }

    /// Returns the temporary file, to lock it before it becomes visible.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Makes the content durable, still in the temporary file.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Renames the temporary file without waiting for the disk, and returns it, still open.
    pub fn publish(mut self) -> io::Result<File> {
        if let Some(temporary) = &self.temporary.0 {
            fs::rename(temporary, &self.target)?;
        }
        self.temporary.0 = None;
        Ok(self.file)
    }

    /// Makes the content durable and renames the temporary file.
    pub fn finish(self) -> io::Result<()> {
        self.sync()?;
        let target = self.target.clone();
        self.publish()?;
        sync_directory(directory(&target))
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_behind_a_link_is_replaced_and_a_pipe_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(link.is_symlink());
        assert!(replace_file(dir.path(), b"new").is_err());
    }

    #[test]
    fn beside_replaces_a_link_instead_of_following_it() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, temporary] = ["file", "link", "tmp"].map(|name| dir.path().join(name));
        fs::write(&file, "theirs").unwrap();
        symlink(&file, &link).unwrap();
        symlink(&file, &temporary).unwrap();
        let mut replacement = Replacement::private(&link, temporary.clone()).unwrap();
        replacement.write_all(b"ours").unwrap();
        replacement.publish().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"theirs", "neither link was followed");
        assert_eq!(fs::read(&link).unwrap(), b"ours");
        assert_eq!(fs::symlink_metadata(&link).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!temporary.is_symlink());
    }

    #[test]
    fn an_unfinished_replacement_leaves_the_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "old").unwrap();
        let mut replacement = Replacement::begin(&file).unwrap();
        replacement.write_all(b"half").unwrap();
        drop(replacement);
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
