use beads_store::REF;

use super::Remote;
use crate::sandbox::{Mode, wait_until};

/// This many creates are closer together than the daemon's quiet time, even on a slow machine.
#[test]
fn a_burst_of_creates_is_one_push() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Daemon);
    bd.json(&["config", "set", "sync.auto", "true"]);
    bd.json(&["config", "set", "sync.quiet", "3s"]);
    bd.json(&["config", "set", "sync.max_delay", "10m"]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let bd = &bd;
            scope.spawn(move || {
                for number in 0..50 {
                    bd.create(&[&format!("bead {writer}.{number}")]);
                }
            });
        }
    });
    wait_until("everything is pushed", || bd.json(&["status"])["sync"]["unsynced"] == 0);
    // Every push contains at least one commit, so there were no more pushes than commits.
    let mut walk = remote.git.revwalk().unwrap();
    walk.push_ref(REF).unwrap();
    let commits = walk.count();
    assert!(commits <= 2, "{commits} commits for one burst");
    let ben = remote.replica(Mode::Embedded);
    ben.json(&["sync"]);
    assert_eq!(super::titles(&ben).len(), 200);
}
