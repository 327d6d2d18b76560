//! A remote that does not let our ref move is not mistaken for lost races: each exchange asks it a few times
//! and ends with the reason. `engine/src/daemon/saver.rs` tests how often exchanges follow each other then.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; a skipped one prints why

use std::cell::Cell;
use std::path::Path;

use beads_core::Code;
use beads_store::{AnyRemote, CommitId, Error, Pushed, REF, Remote, Result, Transport};

use crate::clones::{Clone, create, transports, world};

/// How often an exchange may ask a remote that refuses: a lost race is retried ten times, with a fetch and a
/// push each.
const FEW: usize = 6;

/// Counts requests to a remote.
struct Counted {
    remote: AnyRemote,
    requests: Cell<usize>,
}

impl Counted {
    fn count(&self) {
        self.requests.set(self.requests.get() + 1);
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

/// Exchanges once, like a daemon, and returns how often the remote was asked.
fn exchange(clone: &mut Clone) -> (usize, Result<()>) {
    let repository = clone.repository();
    let remote = Counted { remote: clone.remote(), requests: Cell::new(0) };
    let checkpoint = clone.replica.begin_checkpoint().unwrap();
    let (saved, exchange) = checkpoint.sync(&repository, &remote, |_| {}).unwrap();
    clone.replica.finish_checkpoint(saved, Vec::new()).unwrap();
    (remote.requests.get(), exchange.map(drop))
}

/// Makes a remote refuse the ref of a clone that has something to push.
type SetUp = fn(&Path, &mut Clone);

/// Creates a branch `beads` on the remote, which prevents `beads/store`.
fn conflicting_branch(root: &Path, clone: &mut Clone) {
    let remote = git2::Repository::open(root.join("remote.git")).unwrap();
    let tip = remote.refname_to_id(REF).unwrap();
    remote.find_reference(REF).unwrap().delete().unwrap();
    remote.reference("refs/heads/beads", tip, true, "test").unwrap();
    clone.run(&create("bd-b1", "two"));
}

/// Leaves a lock file on the remote, as a killed push does.
fn stale_lock(root: &Path, clone: &mut Clone) {
    std::fs::write(root.join("remote.git").join(format!("{REF}.lock")), "").unwrap();
    clone.run(&create("bd-b1", "two"));
}

/// Fetches from one repository and pushes to another.
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
        [("a branch", conflicting_branch), ("a lock", stale_lock), ("a triangle", triangle)];
    for transport in transports() {
        for (name, set_up) in set_ups {
            // Our libgit2 transport removes an old lock file on this machine.
            if name == "a lock" && transport == Transport::Native {
                continue;
            }
            let (root, mut clones) = world(&["ann"], transport);
            clones[0].run(&create("bd-a1", "one"));
            clones[0].sync();
            set_up(root.path(), &mut clones[0]);
            // Not only the first time: an idle daemon keeps asking.
            for _ in 0..3 {
                let (requests, exchanged) = exchange(&mut clones[0]);
                let error = exchanged.unwrap_err();
                assert_eq!(error.code(), Code::PushRefused, "{name}, {transport:?}: {error}");
                assert!(!matches!(error, Error::Contention(_)), "{name}, {transport:?}: {error}");
                assert!(requests <= FEW, "{name}, {transport:?}: asked {requests} times");
            }
        }
    }
}
