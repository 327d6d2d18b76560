//! Replaces a file in one step: readers see the old content or the new, never half of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes beside the file, syncs, and renames. Through a link the file it leads to is replaced; a device or a pipe is
/// written to as it is.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(content);
    }
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
    let temporary = directory.join(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let written = write(&temporary, content).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.and_then(|()| beads_store::sync_directory(directory))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}
