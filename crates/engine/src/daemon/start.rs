//! Starting a daemon from a command: a child of its own session that outlives its starter.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use beads_store::withhold_git_variables;

use super::{SocketPath, log};
use crate::failure::{Code, Failure};
use crate::place::{Kind, Place};

/// What a new daemon says on its standard output, once, when it is ready or has given up.
pub(super) const READY: &str = "ready";
pub(super) const LOST_THE_RACE: &str = "another daemon is there";

/// Finds the program to run as a daemon: this one, or the one that was put in its place while this one ran on.
pub fn program() -> Result<PathBuf, Failure> {
    let unreachable = |reason: String| Failure::new(Code::DaemonUnreachable, reason);
    let running =
        std::env::current_exe().map_err(|error| unreachable(format!("cannot find this program: {error}")))?;
    installed(&running).ok_or_else(|| {
        unreachable(format!(
            "{} was removed; a process that still runs it must be restarted",
            running.display()
        ))
    })
}

/// Linux marks the path of a program whose file was replaced or removed.
fn installed(running: &Path) -> Option<PathBuf> {
    const MARK: &str = " (deleted)";
    if running.is_file() {
        return Some(running.to_owned());
    }
    let replaced = running.to_str()?.strip_suffix(MARK).map(PathBuf::from)?;
    replaced.is_file().then_some(replaced)
}

/// Starts a daemon and waits until it listens. Also fine when another one was faster.
pub fn start(place: &Place) -> Result<(), Failure> {
    let program = program()?;
    // Where no socket may be there is no point in starting anything.
    SocketPath::of(place).prepare()?;
    let store_dir = place.store_dir();
    std::fs::create_dir_all(&store_dir).map_err(|error| Failure::io("make", &store_dir, &error))?;
    let log_path = log::path(&store_dir);
    let log = log::open(&store_dir)?;
    let mut command = Command::new(program);
    // Started inside a hook, it would serve every later command with that hook's idea of the repository.
    let mut child = withhold_git_variables(&mut command)
        .args(["daemon", "run", "--detach", "--store"])
        .arg(&place.git_dir)
        .args((place.kind == Kind::Private).then_some("--private"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| Failure::new(Code::DaemonUnreachable, format!("cannot start a daemon: {error}")))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        // An error reads like an early end, which is dealt with below.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    match line.trim_end() {
        READY | LOST_THE_RACE => Ok(()),
        "" => Err(Failure::new(
            Code::DaemonUnreachable,
            format!("the daemon did not start; bd daemon log shows why ({})", log_path.display()),
        )),
        failure => Err(serde_json::from_str(failure).unwrap_or_else(|_| {
            Failure::new(Code::DaemonUnreachable, format!("the daemon said {failure:?}"))
        })),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use super::*;

    #[test]
    fn a_replaced_program_is_found_and_a_removed_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (path, marked) = (dir.path().join("bd"), dir.path().join("bd (deleted)"));
        assert_eq!(installed(&path), None);
        assert_eq!(installed(&marked), None);
        std::fs::write(&path, "").unwrap();
        assert_eq!(installed(&path), Some(path.clone()));
        assert_eq!(installed(&marked), Some(path));
    }
}
