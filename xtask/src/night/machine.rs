//! A clone with its daemon, and the remote that all machines share.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::LEASE;
use crate::arguments::Result;

/// The shared remote.
pub struct Remote {
    path: PathBuf,
}

impl Remote {
    pub fn new(root: &Path) -> Result<Self> {
        std::fs::create_dir_all(root)?;
        let path = root.join("remote.git");
        git2::Repository::init_bare(&path)?;
        Ok(Self { path })
    }

    /// Makes the remote unreachable for a while.
    pub fn disconnect(&self, time: Duration) {
        let away = self.path.with_extension("away");
        if std::fs::rename(&self.path, &away).is_ok() {
            std::thread::sleep(time);
            let _ = std::fs::rename(&away, &self.path);
        }
    }

    pub fn bytes(&self) -> u64 {
        bytes_in(&self.path)
    }

    pub fn commits(&self) -> Result<usize> {
        let repository = git2::Repository::open(&self.path)?;
        let mut walk = repository.revwalk()?;
        walk.push_ref("refs/heads/beads/store")?;
        Ok(walk.count())
    }
}

fn bytes_in(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// A clone with its daemon.
pub struct Machine {
    bd: PathBuf,
    repository: PathBuf,
    runtime: PathBuf,
    home: PathBuf,
}

impl Machine {
    /// Creates machines with clones of the remote in `root`.
    pub fn fleet(bd: &Path, root: &Path, scope: &str, machines: usize) -> Result<Vec<Self>> {
        (0..machines).map(|number| Self::new(bd, root, scope, number)).collect()
    }

    fn new(bd: &Path, root: &Path, scope: &str, number: usize) -> Result<Self> {
        let home = root.join(format!("m{number}"));
        let (repository, runtime) = (home.join("repo"), home.join("run"));
        std::fs::create_dir_all(&home)?;
        let made = git2::Repository::init(&repository)?;
        made.remote("origin", &root.join("remote.git").display().to_string())?;
        let machine = Self { bd: bd.to_owned(), repository, runtime, home };
        machine.run(&["config", "set", "claim.scope", scope])?;
        machine.run(&["config", "set", "claim.lease", LEASE])?;
        Ok(machine)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.bd);
        command.args(args).current_dir(&self.repository).stdin(Stdio::null());
        command.env("BD_RUNTIME_DIR", &self.runtime).env("HOME", &self.home).env_remove("BD_ACTOR");
        command
    }

    fn run(&self, args: &[&str]) -> Result<()> {
        let output = self.command(args).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("bd {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Runs a command and returns its JSON answer, which may be an error.
    pub fn ask(&self, actor: &str, args: &[&str]) -> Value {
        let output = self.command(&[&["--actor", actor, "--json"], args].concat()).output();
        output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default()
    }

    /// Creates beads.
    pub fn create_beads(&self, beads: u64) -> Result<()> {
        (0..beads).try_for_each(|number| self.run(&["create", &format!("task number {number}")]))
    }

    pub fn sync(&self) -> Result<()> {
        self.run(&["sync"])
    }

    /// Returns the ids of all closed beads.
    pub fn closed(&self) -> Result<Vec<String>> {
        let listed = self.ask("judge", &["list", "--status", "closed", "--limit", "0"]);
        let beads = listed.as_array().ok_or("no list")?;
        Ok(beads.iter().filter_map(|bead| Some(bead["id"].as_str()?.to_owned())).collect())
    }

    /// Kills the daemon with `kill -9`, if there is one.
    pub fn kill_daemon(&self) {
        if let Some(pid) = self.ask("judge", &["daemon", "status"])["pid"].as_i64() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }

    pub fn stop(&self) {
        let _ = self.run(&["daemon", "stop"]);
    }
}
