//! Detects a running `git gc`. It decides at its start which objects are unreachable, and may delete objects
//! that were written since, even if a ref points at them now.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, test_kill_process};

use crate::{Error, Result};

/// `git gc` keeps its process id and host name in this file while it runs.
const FILE: &str = "gc.pid";

/// Git ignores such a file after this time.
const STALE: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a save waits for `git gc`, and how often it checks. Unsaved changes stay in the journal.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until no `git gc` is running that may have started before now.
pub(crate) fn wait_for_git_gc(git_dir: &Path) -> Result<()> {
    let start = Instant::now();
    while is_gc_running(git_dir) {
        if start.elapsed() >= PATIENCE {
            return Err(Error::GcRunning);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn is_gc_running(git_dir: &Path) -> bool {
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
    // A process that was killed leaves its file behind.
    pid.is_none_or(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn only_a_live_process_counts() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_gc_running(dir.path()));
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
            assert_eq!(is_gc_running(dir.path()), collects, "{text:?}");
        }
        let old = SystemTime::now() - 2 * STALE;
        fs::File::options().write(true).open(dir.path().join(FILE)).unwrap().set_modified(old).unwrap();
        assert!(!is_gc_running(dir.path()));
    }
}
