//! A remote that keeps our ref from moving is not taken for one that others were faster on: each exchange asks it a few times,
//! and ends with the reason. How often exchanges follow each other then is in `engine/src/daemon/saver.rs`.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test that cannot go on stops; a skipped one says so

mod clones;

use std::cell::Cell;
use std::path::Path;

use beads_core::Code;
use beads_store::{AnyRemote, CommitId, Error, Pushed, REF, Remote, Result, Transport};

use clones::{Clone, create, transports, world};

/// So often an exchange may ask a remote that refuses it: a lost race is tried ten times, with a fetch and a push each.
const FEW: usize = 6;

/// Counts how often a remote is asked.
struct Counted {
    remote: AnyRemote,
    asked: Cell<usize>,
}

impl Counted {
    fn count(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

impl Remote for Counted {
    fn name(&self) -> &str {
        self.remote.name()
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.count();
        self.remote.fetch()
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.count();
        self.remote.push(expected, new)
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        self.count();
        self.remote.push_while(expected, new, work)
    }
}

/// Exchanges once, as a daemon does, and returns how often the remote was asked.
fn exchange(clone: &mut Clone) -> (usize, Result<()>) {
    let repository = clone.repository();
    let remote = Counted { remote: clone.remote(), asked: Cell::new(0) };
    let checkpoint = clone.replica.begin_checkpoint().unwrap();
    let (saved, exchange) = checkpoint.sync(&repository, &remote, |_| {}).unwrap();
    clone.replica.finish_checkpoint(saved, Vec::new()).unwrap();
    (remote.asked.get(), exchange.map(drop))
}

/// Makes a remote refuse the ref of a clone, which has something to push then.
type SetUp = fn(&Path, &mut Clone);

/// A branch `beads` on the remote, where `beads/store` should be.
fn branch_in_the_way(root: &Path, clone: &mut Clone) {
    let remote = git2::Repository::open(root.join("remote.git")).unwrap();
    let tip = remote.refname_to_id(REF).unwrap();
    remote.find_reference(REF).unwrap().delete().unwrap();
    remote.reference("refs/heads/beads", tip, true, "test").unwrap();
    clone.run(&create("bd-b1", "two"));
}

/// What a killed push leaves on the remote.
fn stale_lock(root: &Path, clone: &mut Clone) {
    std::fs::write(root.join("remote.git").join(format!("{REF}.lock")), "").unwrap();
    clone.run(&create("bd-b1", "two"));
}

/// Fetches come from one repository and pushes go to another.
fn triangle(root: &Path, clone: &mut Clone) {
    let elsewhere = root.join("elsewhere.git");
    git2::Repository::init_bare(&elsewhere).unwrap();
    let mut config = git2::Repository::open(&clone.git_dir).unwrap().config().unwrap();
    config.set_str("remote.origin.pushurl", elsewhere.to_str().unwrap()).unwrap();
    clone.run(&create("bd-b1", "two"));
}

#[test]
fn a_remote_that_refuses_the_ref_is_asked_a_few_times_per_exchange() {
    let set_ups: [(&str, SetUp); 3] =
        [("a branch", branch_in_the_way), ("a lock", stale_lock), ("a triangle", triangle)];
    for transport in transports() {
        for (name, set_up) in set_ups {
            // The library takes a lock file on this machine away once it is old.
            if name == "a lock" && transport == Transport::Native {
                continue;
            }
            let (root, mut clones) = world(&["ann"], transport);
            clones[0].run(&create("bd-a1", "one"));
            clones[0].sync();
            set_up(root.path(), &mut clones[0]);
            // Not only the first time: an idle daemon goes on asking.
            for _ in 0..3 {
                let (asked, exchanged) = exchange(&mut clones[0]);
                let error = exchanged.unwrap_err();
                assert_eq!(error.code(), Code::PushRefused, "{name}, {transport:?}: {error}");
                assert!(!matches!(error, Error::Contention(_)), "{name}, {transport:?}: {error}");
                assert!(asked <= FEW, "{name}, {transport:?}: asked {asked} times");
            }
        }
    }
}
