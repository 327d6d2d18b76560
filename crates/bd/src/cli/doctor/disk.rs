//! Whether the disk of the store has room and can be written.

use std::path::Path;

use rustix::fs::{Access, StatVfs, StatVfsMountFlags};
use serde_json::Value;

use super::Examined;
use super::finding::{error, warning};

const MIB: u64 = 1024 * 1024;

/// Below this, the next checkpoint may fail.
const LITTLE: u64 = 200 * MIB;

/// Below this, the next change may fail: a journal segment needs up to a few megabytes.
const NONE: u64 = 10 * MIB;

/// Reports a full or read-only disk and a directory of another user.
pub fn check(examined: &Examined) -> Vec<Value> {
    let directory = examined.place.git_dir.as_path();
    let Ok(disk) = rustix::fs::statvfs(directory) else { return Vec::new() };
    let mut findings = room(directory, &disk);
    let is_read_only = disk.f_flag.contains(StatVfsMountFlags::RDONLY);
    if is_read_only || rustix::fs::access(directory, Access::WRITE_OK).is_err() {
        let user = rustix::process::getuid().as_raw();
        findings.push(warning(
            "store_not_writable",
            format!(
                "{} cannot be written by user {user}, so bd only answers queries; mount the disk writable, or give the \
                 directory to the user who works in it (chown -R)",
                directory.display()
            ),
        ));
    }
    findings
}

fn room(directory: &Path, disk: &StatVfs) -> Vec<Value> {
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let shown = directory.display();
    let advice = "delete files, then run the command again; what was acknowledged is safe";
    // Some file systems have no fixed number of files and report zero.
    let out_of_files = disk.f_files > 0 && disk.f_favail == 0;
    match free {
        _ if out_of_files => {
            vec![error("disk_full", format!("the disk of {shown} has no free inode; {advice}"))]
        }
        free if free < NONE => {
            vec![error("disk_full", format!("the disk of {shown} has {} MiB left; {advice}", free / MIB))]
        }
        free if free < LITTLE => {
            vec![warning(
                "disk_nearly_full",
                format!("the disk of {shown} has {} MiB left; delete files", free / MIB),
            )]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_is_a_warning_and_none_an_error() {
        let disk = |free: u64, files: u64| StatVfs {
            f_bsize: 1,
            f_frsize: MIB,
            f_blocks: 1_000_000,
            f_bfree: free,
            f_bavail: free,
            f_files: 100,
            f_ffree: files,
            f_favail: files,
            f_fsid: 0,
            f_flag: StatVfsMountFlags::empty(),
            f_namemax: 255,
        };
        let severity = |free, files| {
            let found = room(Path::new("/x"), &disk(free, files));
            found.first().map(|found| found["severity"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(severity(500, 1), None);
        assert_eq!(severity(100, 1).as_deref(), Some("warning"));
        assert_eq!(severity(1, 1).as_deref(), Some("error"));
        assert_eq!(severity(500, 0).as_deref(), Some("error"));
    }
}
