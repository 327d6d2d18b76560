//! Measures the commands of another program alternately with ours, on stores with the same beads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::floor;
use super::samples::Samples;
use super::store::{self, Store};
use crate::arguments::Result;

/// Returns the arguments with which a peer imports a file of beads.
fn import_args(dialect: &str, file: &str) -> Result<Vec<String>> {
    match dialect {
        "go" => Ok(vec!["import".into(), "-i".into(), file.into()]),
        "file" => Ok(vec!["import".into(), file.into()]),
        other => Err(format!("--dialect {other:?}: go takes import -i FILE, file takes import FILE").into()),
    }
}

struct Peer {
    path: PathBuf,
    dir: PathBuf,
}

impl Peer {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(args)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

pub fn measure(
    name: &str,
    path: &Path,
    dialect: &str,
    ours: &Store,
    root: &Path,
    runs: usize,
) -> Result<Vec<String>> {
    let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    let dir = root.join("peer");
    git2::Repository::init(&dir)?;
    let file = root.join("peer.jsonl").to_string_lossy().into_owned();
    ours.time(&["export", "--format", "jsonl", "-o", &file])?;
    let peer = Peer { path, dir };
    store::time(&mut peer.command(&["init", "--prefix", "bd"]))?;
    let import = import_args(dialect, &file)?;
    store::time(&mut peer.command(&import.iter().map(String::as_str).collect::<Vec<_>>()))?;
    let id = ours.some_id()?;
    let commands: [(&str, Vec<&str>); 4] = [
        ("show", vec!["show", &id, "--json"]),
        ("ready", vec!["ready", "--limit", "50", "--json"]),
        ("list", vec!["list", "--limit", "50", "--json"]),
        ("create", vec!["create", "Compare with the others", "--json"]),
    ];
    let mut lines = Vec::new();
    for (what, args) in commands {
        let (mut process, mut us, mut them) = (Samples::default(), Samples::default(), Samples::default());
        for _ in 0..runs {
            process.push(floor::start_a_process()?);
            us.push(ours.time(&args)?);
            them.push(store::time(&mut peer.command(&args))?);
        }
        let floor = process.median();
        lines.push(format!(
            "`{what}` at 1,000 beads: {name} {:.1} × `/bin/true`, bd {:.1} ×: {:.1} times as fast",
            them.median() / floor,
            us.median() / floor,
            them.median() / us.median()
        ));
    }
    Ok(lines)
}
