//! Starting a daemon from a command: a child of its own session that outlives its starter.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use beads_store::withhold_git_variables;

use super::SocketPath;
use super::socket::no_socket;
use crate::deadline::Deadline;
use crate::failure::{Code, Failure};
use crate::place::{Kind, Place};

/// The lines of a new daemon on its standard output. The first says that it has the store and opens it; the others are
/// the last line.
pub(super) const OPENING: &str = "opening";
pub(super) const READY: &str = "ready";
pub(super) const LOST_THE_RACE: &str = "another daemon is there";

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
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Code::DaemonUnreachable, format!("cannot find this program: {error}"))
    })?;
    // Where no socket may be there is no point in starting anything.
    SocketPath::of(place).prepare()?;
    let store_dir = place.store_dir();
    std::fs::create_dir_all(&store_dir).map_err(|error| no_socket("make", &store_dir, &error))?;
    let log_path = store_dir.join("daemon.log");
    // Emptied at each start: the log tells of the daemon that is running, and cannot grow without end.
    let log = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .open(&log_path)
        .map_err(|error| no_socket("open", &log_path, &error))?;
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
            format!("the daemon did not start; see {}", log_path.display()),
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
