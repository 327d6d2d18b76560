//! The position that a libgit2 transfer reports. One test, because a process has one meter.

#![allow(clippy::unwrap_used)] // a failing test may panic

use std::path::Path;
use std::time::Duration;

use beads_store::progress::{SYNC, Step};
use beads_store::{Native, Pushed, Remote};

const REF: &str = "refs/heads/beads/store";
const COMMITS: usize = 200;

/// Creates a history that is too long to be copied as loose objects.
fn long_history(path: &Path) -> String {
    let git = git2::Repository::init_bare(path).unwrap();
    let author = git2::Signature::now("ann", "ann@here").unwrap();
    for n in 0..COMMITS {
        let blob = git.blob(format!("{{\"line\":{n}}}\n").as_bytes()).unwrap();
        let mut tree = git.treebuilder(None).unwrap();
        tree.insert("state.jsonl", blob, 0o100_644).unwrap();
        let tree = git.find_tree(tree.write().unwrap()).unwrap();
        let parent = git.refname_to_id(REF).ok().map(|id| git.find_commit(id).unwrap());
        git.commit(Some(REF), &author, &author, "save", &tree, &parent.iter().collect::<Vec<_>>()).unwrap();
    }
    git.refname_to_id(REF).unwrap().to_string()
}

#[test]
fn a_transfer_reports_how_many_objects_are_done() {
    let root = tempfile::tempdir().unwrap();
    let [ours, theirs, other] = ["ours", "theirs", "other"].map(|name| root.path().join(name));
    let tip = long_history(&ours);
    git2::Repository::init_bare(&theirs).unwrap();
    for clone in [&ours, &other] {
        let git = git2::Repository::init_bare(clone).unwrap();
        git.remote("origin", theirs.to_str().unwrap()).unwrap();
    }
    let remote = |path: &Path| Native::new(path, "origin", Duration::from_secs(60));
    assert_eq!(SYNC.last(), None);
    let watched = SYNC.watch();
    assert_eq!(remote(&ours).push(None, &tip).unwrap(), Pushed::Done);
    let sent = SYNC.last().unwrap();
    let objects = 3 * COMMITS as u64;
    assert!(matches!(sent.step, Step::Sending | Step::Indexing), "{sent:?}");
    assert!(sent.done == sent.total && (sent.step == Step::Indexing || sent.total == objects), "{sent:?}");
    drop(watched);
    let watched = SYNC.watch();
    assert_eq!(remote(&other).fetch().unwrap(), Some(tip));
    let received = SYNC.last().unwrap();
    assert!(matches!(received.step, Step::Receiving | Step::Indexing), "{received:?}");
    assert_eq!(received.done, received.total);
    drop(watched);
    assert_eq!(SYNC.last(), None);
}
