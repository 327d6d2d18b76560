//! Black-box tests of syncing: real commands and daemons with one bare repository, without `git` on the path.

mod burst;
mod daemons;
mod git_variables;
mod growth;
mod hostile;
mod kill;
mod redirect;
mod shapes;

use std::path::PathBuf;

use beads_store::REF;
use serde_json::Value;
use tempfile::TempDir;

use crate::sandbox::{Mode, Sandbox};

/// A bare repository that several sandboxes share.
pub struct Remote {
    git: git2::Repository,
    root: TempDir,
}

impl Remote {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let git = git2::Repository::init_bare(root.path().join("remote.git")).unwrap();
        Self { git, root }
    }

    pub fn path(&self) -> PathBuf {
        self.root.path().join("remote.git")
    }

    /// Creates a replica that has the remote configured but no data from it.
    pub fn replica(&self, mode: Mode) -> Sandbox {
        let bd = Sandbox::new(mode);
        bd.repository().remote("origin", self.path().to_str().unwrap()).unwrap();
        bd
    }

    pub fn tip(&self) -> Option<git2::Oid> {
        self.git.refname_to_id(REF).ok()
    }
}

fn titles(bd: &Sandbox) -> Vec<String> {
    let beads = bd.json(&["list"]);
    let title = |bead: &Value| bead["title"].as_str().unwrap().to_owned();
    let mut titles: Vec<_> = beads.as_array().unwrap().iter().map(title).collect();
    titles.sort_unstable();
    titles
}

/// Syncs all replicas until none has anything new, and asserts that all have the same commit and the same
/// files.
fn sync_until_equal(replicas: &[&Sandbox]) {
    for _ in 0..3 {
        for bd in replicas {
            bd.json(&["sync"]);
        }
    }
    let tree = |bd: &&Sandbox| bd.repository().find_reference(REF).unwrap().peel_to_tree().unwrap().id();
    let first = (tree(&replicas[0]), replicas[0].json(&["verify"])["fingerprint"].clone());
    for bd in replicas {
        assert_eq!((tree(bd), bd.json(&["verify"])["fingerprint"].clone()), first);
    }
}
