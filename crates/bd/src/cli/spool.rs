use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::canonical::hex;
use beads_engine::failure::{Code, Failure};
use beads_store::try_lock;

/// The most that is copied from a pipe or a device, which may be endless. An import of this size would not
/// fit in memory.
const MAX_COPIED_BYTES: u64 = 4 * 1024 * 1024 * 1024;

const PREFIX: &str = "bd-import-";

/// A directory that is younger than this may not be locked yet. Versions before 1.0 do not lock theirs at all.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(60 * 60);

/// A temporary directory for input that only this process can read, and that the daemon shall read. It is
/// removed after the import, or by a later import if this process is killed.
pub struct Spool {
    pub directory: PathBuf,
    /// Locked while the directory is in use.
    _lock: File,
}

impl Spool {
    pub fn new() -> Result<Self, Failure> {
        let parent = std::env::temp_dir();
        remove_left_behind(&parent);
        let mut random = [0; 16];
        beads_store::fill_random(&mut random)
            .map_err(|error| Failure::new(Code::IoError, error.to_string()))?;
        let directory = parent.join(format!("{PREFIX}{}", hex(&random)));
        let made = fs::DirBuilder::new().mode(0o700).create(&directory);
        let locked = made.and_then(|()| {
            let lock = File::open(&directory)?;
            try_lock(&lock)?;
            Ok(lock)
        });
        let lock = locked.map_err(|error| Failure::io("make", &directory, &error))?;
        Ok(Self { directory, _lock: lock })
    }

    /// Copies a source into a file. Until the copy is complete the file has no name where the system supports
    /// that, so nothing is left of it if this process is killed.
    pub fn write(&self, name: &str, source: impl Read) -> Result<PathBuf, Failure> {
        let path = self.directory.join(name);
        let parent = path.parent().unwrap_or(&self.directory);
        fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        let failed = |error: io::Error| Failure::io("write", &path, &error);
        let unnamed = unnamed(parent);
        let is_named = unnamed.is_none();
        let mut file = match unnamed {
            Some(file) => file,
            None => {
                let mut options = fs::OpenOptions::new();
                options.write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?
            }
        };
        let copied = io::copy(&mut source.take(MAX_COPIED_BYTES + 1), &mut file).map_err(failed)?;
        if copied > MAX_COPIED_BYTES {
            let message = format!("the input is larger than {MAX_COPIED_BYTES} bytes; nothing was imported");
            return Err(Failure::new(Code::TooLarge, message));
        }
        if !is_named {
            give_name(&file, &path).map_err(failed)?;
        }
        Ok(path)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Removes the directories of imports that were killed. Errors are ignored: the next import tries again.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        if is_left_behind(&path).unwrap_or(false) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn is_left_behind(path: &Path) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    let is_ours = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || age < LEFT_BEHIND_AFTER {
        return Ok(false);
    }
    try_lock(&File::open(path)?)
}

/// Opens a file without a name, which vanishes with this process. `None` if the file system has no such files.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = File::from(open(directory, flags, Mode::RUSR | Mode::WUSR).ok()?);
    // Without /proc it could not get a name later.
    link_to(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn give_name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};

    Ok(linkat(CWD, link_to(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(target_os = "linux")]
fn link_to(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;

    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_directory: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn give_name(_file: &File, _path: &Path) -> io::Result<()> {
    Ok(())
}
