//! Measures a sync of one change, and the time the git library needs to write, hash and push the same change.

use std::path::Path;
use std::time::{Duration, Instant};

use git2::{ObjectType, Repository, Signature, Time};

use super::floor;
use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

const REF: &str = "refs/heads/beads/store";

pub struct Exchanges {
    pub process: Samples,
    pub library: Samples,
    pub sync: Samples,
}

pub fn measure(store: &Store, root: &Path, runs: usize) -> Result<Exchanges> {
    let remote = root.join("remote.git");
    Repository::init_bare(&remote)?;
    let repository = Repository::open(&store.dir)?;
    repository.remote("origin", &remote.to_string_lossy())?;
    // The daemon must not sync before the measured command does.
    store.json(&["config", "set", "sync.quiet", "1h"])?;
    store.json(&["config", "set", "sync.max_delay", "1h"])?;
    let id = store.some_id()?;
    store.time(&["sync"])?;
    let library_remote = root.join("library.git");
    Repository::init_bare(&library_remote)?;
    let mut all =
        Exchanges { process: Samples::default(), library: Samples::default(), sync: Samples::default() };
    push_again(&repository, &library_remote)?;
    for run in 0..runs {
        store.time(&["update", &id, "--title", &format!("Measured {run} times")])?;
        all.process.push(floor::start_a_process()?);
        all.sync.push(store.time(&["sync"])?);
        all.library.push(push_again(&repository, &library_remote)?);
    }
    Ok(all)
}

/// Writes the newest state again, as a new commit with new blobs, and pushes it.
fn push_again(repository: &Repository, remote: &Path) -> Result<Duration> {
    let tip = repository.find_reference(REF)?.peel_to_commit()?;
    let mut files = Vec::new();
    for entry in &tip.tree()? {
        if entry.kind() == Some(ObjectType::Blob) {
            let content = repository.find_blob(entry.id())?.content().to_vec();
            files.push((entry.name().unwrap_or_default().to_owned(), content));
        }
    }
    let last = repository.find_reference("refs/bench/library").and_then(|last| last.peel_to_commit()).ok();
    let start = Instant::now();
    let mut tree = repository.treebuilder(None)?;
    for (name, content) in &mut files {
        // One more byte, so that the objects are new.
        content.push(b' ');
        let blob = repository.blob(content)?;
        tree.insert(name.as_str(), blob, 0o100_644)?;
    }
    let tree = repository.find_tree(tree.write()?)?;
    let author = Signature::new("bench", "bench@here", &Time::new(0, 0))?;
    let parents: Vec<_> = last.iter().collect();
    let message = "measured";
    let commit = repository.commit(None, &author, &author, message, &tree, &parents)?;
    repository.reference("refs/bench/library", commit, true, message)?;
    let mut remote = repository.remote_anonymous(&remote.to_string_lossy())?;
    remote.push(&["+refs/bench/library:refs/heads/library"], None)?;
    Ok(start.elapsed())
}
