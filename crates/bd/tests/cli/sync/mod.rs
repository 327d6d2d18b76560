//! Synchronisation from outside: real commands and daemons around one bare repository, with no `git` on the path.

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

    /// A replica that has heard of the remote and knows nothing else.
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

/// Syncs all until nobody has anything new; then all hold the same commit and the same bytes.
fn settle(replicas: &[&Sandbox]) {
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
