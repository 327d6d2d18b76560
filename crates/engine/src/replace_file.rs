//! Replaces a file in one step: readers see the old content or the new, never half of it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use beads_store::not_regular;

/// Writes beside the file, syncs, and renames. Through a link the file it leads to is replaced. A pipe or a device is refused:
/// opening one may never return.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::begin(path)?;
    replacement.write_all(content)?;
    replacement.finish()
}

/// The next content of a file, beside it until it is complete.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
}

impl Replacement {
    /// Opens the temporary file, so that a directory that cannot be written shows before there is anything to write.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(not_regular());
        }
        let name = target.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let temporary =
            directory(&target).join(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A link planted under this name is not followed.
        let file = File::create_new(&temporary)?;
        Ok(Self { file, temporary, target })
    }

    /// Makes the content durable and puts it in the place of the file.
    pub fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        beads_store::sync_directory(directory(&self.target))
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

/// An unfinished replacement leaves nothing behind.
impl Drop for Replacement {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
