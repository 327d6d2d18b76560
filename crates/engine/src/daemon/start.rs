//! Starting a daemon from a command: a child of its own session that outlives its starter.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use beads_store::withhold_git_variables;

use super::SocketPath;
use super::socket::no_socket;
use crate::deadline::Deadline;
use crate::failure::{Code, Failure};
use crate::log;
use crate::place::{Kind, Place};

/// The lines of a new daemon on its standard output. The first says that it has the store and opens it; the others are
/// the last line.
pub(super) const OPENING: &str = "opening";
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

/// How long opening a store may take. It is work, not waiting, so it does not count against the caller's deadline.
const OPENING_TIME: Duration = Duration::from_secs(120);

/// How a start ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It listens.
    Ready,
    /// Another process has the store: a daemon that was faster, one that is leaving, or a command.
    Taken,
}

/// Starts a daemon and waits until it listens, or until the deadline.
pub fn start(place: &Place, deadline: Deadline) -> Result<Started, Failure> {
    let program = program()?;
    // Where no socket may be there is no point in starting anything.
    SocketPath::of(place).prepare()?;
    let store_dir = place.store_dir();
    std::fs::create_dir_all(&store_dir).map_err(|error| no_socket("make", &store_dir, &error))?;
    let log_path = log::path(&store_dir);
    // A store directory that cannot be written to is read without a daemon.
    let log =
        log::open(&store_dir).map_err(|failure| Failure::new(Code::DaemonUnreachable, failure.message))?;
    let mut command = Command::new(program);
    // Started inside a hook, it would serve every later command with that hook's idea of the repository.
    let mut child = withhold_git_variables(&mut command)
        .args(["daemon", "run", "--detach", "--patience"])
        .arg(deadline.left().as_millis().to_string())
        .arg("--store")
        .arg(&place.git_dir)
        .args((place.kind == Kind::Private).then_some("--private"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| Failure::new(Code::DaemonUnreachable, format!("cannot start a daemon: {error}")))?;
    let Some(stdout) = child.stdout.take() else { return Ok(Started::Taken) };
    let lines = lines_of(stdout);
    let mut said = lines.recv_timeout(deadline.left());
    if said.as_deref() == Ok(OPENING) {
        said = lines.recv_timeout(OPENING_TIME);
    }
    match said.as_deref() {
        Ok(READY) => Ok(Started::Ready),
        Ok(LOST_THE_RACE) => Ok(Started::Taken),
        Ok(failure) => Err(serde_json::from_str(failure).unwrap_or_else(|_| {
            Failure::new(Code::DaemonUnreachable, format!("the daemon said {failure:?}"))
        })),
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Ok(Started::Taken),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(Failure::new(
            Code::DaemonUnreachable,
            format!("the daemon did not start; bd daemon log shows why ({})", log_path.display()),
        )),
    }
}

/// Reads in a thread of its own, because a pipe has no timeout.
fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
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
