//! A remote on this machine has no server that maintains it.

use std::path::Path;

use super::{Remote, sync_until_equal};
use crate::sandbox::{Mode, set_mode};

fn files(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[test]
fn a_remote_on_this_machine_is_packed() {
    let remote = Remote::new();
    let ann = remote.replica(Mode::Embedded);
    for n in 0..120 {
        ann.create(&[&format!("bead {n}")]);
        ann.json(&["sync"]);
    }
    let count = files(&remote.path().join("objects"));
    assert!(count < 200, "120 syncs left {count} files");
    let ben = remote.replica(Mode::Embedded);
    sync_until_equal(&[&ann, &ben]);
    assert_eq!(ben.json(&["list", "--limit", "0"]).as_array().unwrap().len(), 120);
}

/// Without git, the remote's hooks would not run, so nothing is pushed.
#[test]
fn hooks_and_limits_of_a_remote_on_this_machine_are_not_bypassed() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    bd.create(&["kept here"]);
    let hook = remote.path().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    set_mode(&hook, 0o755);
    let error = bd.error(&["sync"], "push_refused");
    assert!(error["message"].as_str().unwrap().contains("hook pre-receive"), "{error}");
    std::fs::remove_file(&hook).unwrap();
    let mut config = remote.git.config().unwrap();
    config.set_i64("receive.maxInputSize", 10).unwrap();
    let error = bd.error(&["sync"], "push_refused");
    assert!(error["message"].as_str().unwrap().contains("maxInputSize"), "{error}");
    assert!(remote.tip().is_none());
    config.remove("receive.maxInputSize").unwrap();
    bd.json(&["sync"]);
    assert!(remote.tip().is_some());
}

/// A killed push leaves the lock file of the ref. The next push removes it.
#[test]
fn a_lock_file_that_a_killed_push_left_is_removed() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    bd.create(&["first"]);
    bd.json(&["sync"]);
    let lock = remote.path().join(format!("{}.lock", beads_store::REF));
    let left = std::fs::File::create(&lock).unwrap();
    left.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    bd.create(&["second"]);
    bd.json(&["sync"]);
    assert!(!lock.exists());
    assert_eq!(remote.tip(), bd.repository().refname_to_id(beads_store::REF).ok());
}
