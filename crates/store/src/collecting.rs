//! A `git gc` that is running: it decided what leads nowhere when it began, and may delete objects that were written since, even
//! when a ref leads to them now.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, test_kill_process};

use crate::{Error, Result};

/// `git gc` keeps this file while it runs: its process and host.
const FILE: &str = "gc.pid";

/// Git believes such a file no longer than this.
const STALE: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a save waits for it, and how often it looks. What is not saved by then stays in the journal.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until no `git gc` runs that may have begun before now.
pub fn outwait_collection(git_dir: &Path) -> Result<()> {
    let start = Instant::now();
    while is_collecting(git_dir) {
        if start.elapsed() >= PATIENCE {
            return Err(Error::Collecting);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn is_collecting(git_dir: &Path) -> bool {
    let path = git_dir.join(FILE);
    let Ok(file) = fs::metadata(&path) else { return false };
    let age = file.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    if age.is_some_and(|age| age > STALE) {
        return false;
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    let (pid, host) = text.trim_end().split_once(' ').unwrap_or_default();
    let here = rustix::system::uname();
    let pid =
        pid.parse().ok().and_then(Pid::from_raw).filter(|_| host.as_bytes() == here.nodename().to_bytes());
    // One that was killed leaves its file behind.
    pid.is_none_or(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use super::*;

    #[test]
    fn only_a_process_that_lives_collects() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_collecting(dir.path()));
        let here = rustix::system::uname();
        let host = here.nodename().to_str().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        for (text, collects) in [
            (format!("{} {host}", std::process::id()), true),
            (format!("{} {host}\n", ended.id()), false),
            (format!("{} another-{host}", ended.id()), true),
            (String::new(), true),
        ] {
            fs::write(dir.path().join(FILE), &text).unwrap();
            assert_eq!(is_collecting(dir.path()), collects, "{text:?}");
        }
        let old = SystemTime::now() - 2 * STALE;
        fs::File::options().write(true).open(dir.path().join(FILE)).unwrap().set_modified(old).unwrap();
        assert!(!is_collecting(dir.path()));
    }
}
