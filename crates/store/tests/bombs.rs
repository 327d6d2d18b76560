//! Objects of a remote that are small in transfer and inflate beyond every limit.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; a skipped one prints why

use std::io::Write;
use std::path::Path;

use beads_core::limits::MAX_OBJECT_BYTES;
use beads_store::{Error, REF};
use git2::{ObjectType, Oid, Repository};

use crate::clones::{create, transports, world};

/// Writes an object into a separate pack.
fn write_packed(git: &Repository, kind: ObjectType, content: &[u8]) -> Oid {
    let odb = git.odb().unwrap();
    let id = odb.write(kind, content).unwrap();
    let mut pack = git.packbuilder().unwrap();
    pack.insert_object(id, None).unwrap();
    let mut writer = odb.packwriter().unwrap();
    pack.foreach(|bytes| writer.write_all(bytes).is_ok()).unwrap();
    writer.commit().unwrap();
    let name = id.to_string();
    std::fs::remove_file(git.path().join("objects").join(&name[..2]).join(&name[2..])).unwrap();
    id
}

/// Puts a commit on the remote with the files of the tip, whose second parent is far too long.
fn plant(remote: &Path) -> Oid {
    let git = Repository::open_bare(remote).unwrap();
    let good = git.refname_to_id(REF).unwrap();
    let tree = git.find_commit(good).unwrap().tree_id();
    let head = |parents: &str| {
        format!("tree {tree}\n{parents}author a <b> 1700000000 +0000\ncommitter a <b> 1700000000 +0000\n\n")
    };
    let endless = head("") + &"x".repeat(MAX_OBJECT_BYTES);
    let endless = write_packed(&git, ObjectType::Commit, endless.as_bytes());
    let tip = head(&format!("parent {good}\nparent {endless}\n"));
    let tip = git.odb().unwrap().write(ObjectType::Commit, tip.as_bytes()).unwrap();
    git.reference(REF, tip, true, "hostile").unwrap();
    good
}

#[test]
fn a_packed_bomb_is_refused_before_it_is_inflated() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        clones[1].sync();
        let remote = root.path().join("remote.git");
        let good = plant(&remote);
        for clone in &mut clones {
            let name = format!("bd-{}", clone.actor);
            clone.run(&create(&name, "created meanwhile"));
            let error = clone.try_sync(|_| {}).unwrap_err();
            assert!(matches!(error, Error::RemoteInvalid { .. }), "{transport:?}: {error}");
            assert!(error.to_string().contains("more than 16777216"), "{transport:?}: {error}");
            assert!(clone.tip().is_some(), "{transport:?}: local changes are saved");
        }
        Repository::open_bare(&remote).unwrap().reference(REF, good, true, "healed").unwrap();
        clones[0].sync();
        clones[1].sync();
        assert_eq!(clones[1].replica.catalog().live_count(), 3, "{transport:?}: the sync works again");
    }
}
