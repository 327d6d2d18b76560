//! A store for measurements, in a temporary directory.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arguments::Result;
use crate::generate::{self, Size};

pub struct Store {
    bd: PathBuf,
    pub dir: PathBuf,
    pub size: Size,
}

impl Store {
    pub fn generate(bd: &Path, root: &Path, size: Size) -> Result<Self> {
        let dir = root.join(format!("store-{}-of-{}", size.live, size.total));
        std::fs::create_dir_all(&dir)?;
        generate::make(&dir, size, 1)?;
        Ok(Self { bd: bd.to_owned(), dir, size })
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.bd);
        command.args(args).current_dir(&self.dir).env("BD_ACTOR", "bench@here");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Measures a command that must succeed.
    pub fn time(&self, args: &[&str]) -> Result<Duration> {
        time(&mut self.command(args))
    }

    pub fn json(&self, args: &[&str]) -> Result<Value> {
        let output = self.command(&[args, &["--json"]].concat()).stdout(Stdio::piped()).output()?;
        if !output.status.success() {
            return Err(format!("bd {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Returns the id of a bead. Also starts the daemon.
    pub fn some_id(&self) -> Result<String> {
        let beads = self.json(&["list", "--limit", "1"])?;
        Ok(beads[0]["id"].as_str().ok_or("the store has no beads")?.to_owned())
    }

    pub fn daemon_pid(&self) -> Result<u64> {
        self.json(&["daemon", "status"])?["pid"].as_u64().ok_or_else(|| "no daemon is running".into())
    }

    pub fn connect(&self) -> Result<Connection> {
        let place = self.json(&["where"])?;
        let socket = place["socket"].as_str().ok_or("no socket")?;
        Ok(Connection(BufReader::new(UnixStream::connect(socket)?)))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.command(&["daemon", "stop"]).stderr(Stdio::null()).status();
    }
}

/// A client that stays connected.
pub struct Connection(BufReader<UnixStream>);

impl Connection {
    /// Creates a bead durably, and returns the time it took.
    pub fn create(&mut self, title: &str) -> Result<Duration> {
        let call = json!({"mutate": {"ops": [{"op": "create", "title": title}]}});
        let request = json!({"client": "0", "actor": "bench@here", "call": call});
        let start = Instant::now();
        self.0.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let took = start.elapsed();
        if line.contains("\"exit\":0") { Ok(took) } else { Err(line.into()) }
    }
}

/// Measures a command that must succeed.
pub fn time(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?}: {status}").into()) }
}
