//! Starting a daemon from a command: a child of its own session that outlives its starter.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use beads_store::withhold_git_variables;

use super::SocketPath;
use crate::failure::{Code, Failure};
use crate::place::{Kind, Place};

/// What a new daemon says on its standard output, once, when it is ready or has given up.
pub(super) const READY: &str = "ready";
pub(super) const LOST_THE_RACE: &str = "another daemon is there";

/// Starts a daemon and waits until it listens. Also fine when another one was faster.
pub fn start(place: &Place) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Code::DaemonUnreachable, format!("cannot find this program: {error}"))
    })?;
    // Where no socket may be there is no point in starting anything.
    SocketPath::of(place).prepare()?;
    let store_dir = place.store_dir();
    std::fs::create_dir_all(&store_dir).map_err(|error| Failure::io("make", &store_dir, &error))?;
    let log_path = store_dir.join("daemon.log");
    // Emptied at each start: the log tells of the daemon that is running, and cannot grow without end.
    let log = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .open(&log_path)
        .map_err(|error| Failure::io("open", &log_path, &error))?;
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
            format!("the daemon did not start; see {}", log_path.display()),
        )),
        failure => Err(serde_json::from_str(failure).unwrap_or_else(|_| {
            Failure::new(Code::DaemonUnreachable, format!("the daemon said {failure:?}"))
        })),
    }
}
