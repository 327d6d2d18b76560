//! A small file system for one test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Returns `None`, and prints why, where nothing can be mounted.
    pub fn mount(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(&at).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: a file system of a given size cannot be mounted here");
            return None;
        }
        Some(Self(at))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Fills the disk to the last byte. Returns the file to remove to free the space.
    pub fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let mut size = 256 * 1024;
        while size > 0 {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&filler).unwrap();
            if file.write_all(&vec![0; size]).is_err() {
                size /= 2;
            }
        }
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
