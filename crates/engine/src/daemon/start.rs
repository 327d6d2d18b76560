//! Starts a daemon from a command, as a child process in its own session that outlives the command.

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

/// What a new daemon prints when it has the lock and begins to open the store.
pub(super) const OPENING: &str = "opening";
/// What it prints when it listens.
pub(super) const READY: &str = "ready";
/// What it prints when another process holds the lock.
pub(super) const LOST_THE_RACE: &str = "another daemon is there";

/// Returns the program to run as a daemon: this one, or the one that has replaced it on disk.
pub fn program() -> Result<PathBuf, Failure> {
    let unreachable = |reason: String| Failure::new(Code::DaemonUnreachable, reason);
    let running =
        std::env::current_exe().map_err(|error| unreachable(format!("cannot find this program: {error}")))?;
    installed(&running).ok_or_else(|| {
        unreachable(format!("{} was removed while it was running; restart this process", running.display()))
    })
}

/// Returns the path of the installed program. Linux marks the path of a running program whose file was
/// replaced or removed.
fn installed(running: &Path) -> Option<PathBuf> {
    const MARK: &str = " (deleted)";
    if running.is_file() {
        return Some(running.to_owned());
    }
    let replaced = running.to_str()?.strip_suffix(MARK).map(PathBuf::from)?;
    replaced.is_file().then_some(replaced)
}

/// How long opening a store may take. This does not count against the caller's deadline, which is for
/// waiting.
const OPENING_TIME: Duration = Duration::from_secs(120);

/// The result of starting a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// The daemon listens.
    Ready,
    /// Another process holds the lock: a daemon, or a command.
    Taken,
}

/// Starts a daemon and waits until it listens, or until the deadline.
pub fn start(place: &Place, deadline: Deadline) -> Result<Started, Failure> {
    let program = program()?;
    // Without a safe place for the socket, no daemon can run.
    SocketPath::of(place).prepare()?;
    let store_dir = place.store_dir();
    std::fs::create_dir_all(&store_dir).map_err(|error| no_socket("make", &store_dir, &error))?;
    let log_path = log::path(&store_dir);
    // A store in a read-only directory is read without a daemon.
    let log =
        log::open(&store_dir).map_err(|failure| Failure::new(Code::DaemonUnreachable, failure.message))?;
    let mut command = Command::new(program);
    // Git sets these variables inside a hook; the daemon must not use them for later commands.
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
    let mut line = lines.recv_timeout(deadline.left());
    if line.as_deref() == Ok(OPENING) {
        line = lines.recv_timeout(OPENING_TIME);
    }
    match line.as_deref() {
        Ok(READY) => Ok(Started::Ready),
        Ok(LOST_THE_RACE) => Ok(Started::Taken),
        Ok(failure) => Err(serde_json::from_str(failure).unwrap_or_else(|_| {
            Failure::new(Code::DaemonUnreachable, format!("unexpected output of the daemon: {failure:?}"))
        })),
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Ok(Started::Taken),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(Failure::new(
            Code::DaemonUnreachable,
            format!("the daemon did not start; bd daemon log shows why ({})", log_path.display()),
        )),
    }
}

/// Reads lines in a separate thread, because reading a pipe has no timeout.
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
