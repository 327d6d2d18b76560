//! Measures the commands of other programs alternately with ours, on stores with the same beads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use super::floor;
use super::report::Compared;
use super::samples::Samples;
use super::store::{self, Store};
use crate::arguments::Result;

/// A program with the commands of `bd`.
pub struct Peer {
    name: String,
    path: PathBuf,
}

impl FromStr for Peer {
    type Err = Box<dyn std::error::Error>;

    fn from_str(text: &str) -> Result<Self> {
        let (name, path) = text.split_once('=').ok_or("--peer takes NAME=PATH")?;
        let path = Path::new(path).canonicalize().map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { name: name.to_owned(), path })
    }
}

/// A peer with a store.
struct Ready<'a> {
    peer: &'a Peer,
    dir: PathBuf,
}

impl Ready<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.peer.path);
        command
            .args(args)
            .current_dir(&self.dir)
            .env("BD_ACTOR", "bench@here")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Imports a file of beads. Some programs take it as an argument, others as an option.
    fn import(&self, file: &str) -> Result<()> {
        store::time(&mut self.command(&["import", file]))
            .or_else(|_| store::time(&mut self.command(&["import", "-i", file])))
            .map(drop)
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        // Programs without a daemon refuse this.
        let _ = self.command(&["daemon", "stop"]).status();
    }
}

pub fn measure(peers: &[Peer], ours: &Store, root: &Path, runs: usize) -> Result<Vec<Compared>> {
    let file = root.join("peer.jsonl").to_string_lossy().into_owned();
    ours.time(&["export", "--format", "jsonl", "-o", &file])?;
    let mut ready = Vec::new();
    for peer in peers {
        let one = Ready { peer, dir: root.join("peers").join(&peer.name) };
        git2::Repository::init(&one.dir)?;
        store::time(&mut one.command(&["init", "--prefix", "bd"]))?;
        one.import(&file)?;
        ready.push(one);
    }
    let id = ours.some_id()?;
    let commands: [(&str, Vec<&str>); 5] = [
        ("show --json", vec!["show", &id, "--json"]),
        ("ready --limit 50 --json", vec!["ready", "--limit", "50", "--json"]),
        ("list --limit 50 --json", vec!["list", "--limit", "50", "--json"]),
        ("list --limit 0 --json", vec!["list", "--limit", "0", "--json"]),
        ("create --json", vec!["create", "Compare with the others", "--json"]),
    ];
    commands.iter().map(|(what, args)| compare(what, args, ours, &ready, runs)).collect()
}

/// Runs one command of every program in turns.
fn compare(
    what: &'static str,
    args: &[&str],
    ours: &Store,
    peers: &[Ready<'_>],
    runs: usize,
) -> Result<Compared> {
    let (mut process, mut us) = (Samples::default(), Samples::default());
    let mut them: Vec<Option<Samples>> = peers.iter().map(|_| Some(Samples::default())).collect();
    for _ in 0..runs {
        process.push(floor::start_a_process()?);
        us.push(ours.time(args)?);
        for (peer, times) in peers.iter().zip(&mut them) {
            // A program that lacks the command is not asked again.
            match store::time(&mut peer.command(args)) {
                Ok(took) => times.iter_mut().for_each(|times| times.push(took)),
                Err(_) => *times = None,
            }
        }
    }
    let floor = process.median();
    let theirs = peers
        .iter()
        .zip(them)
        .map(|(ready, times)| (ready.peer.name.clone(), times.map(|times| times.median() / floor)));
    Ok(Compared { what, ours: us.median() / floor, theirs: theirs.collect() })
}
