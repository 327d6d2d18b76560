//! The user's own git around ours: settings that would change what is fetched and pushed, unusual remotes,
//! and refs that other programs move. Both transports follow the same rules.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; a skipped one prints why

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use beads_store::{AnyRemote, Error, REF, Remote, Repository, Transport};
use git2::Oid;

use crate::clones::{Clone, create, retitle, sync_all, transports, world};

fn git(clone: &Clone) -> git2::Repository {
    git2::Repository::open(&clone.git_dir).unwrap()
}

fn set(clone: &Clone, key: &str, value: &str) {
    git(clone).config().unwrap().set_str(key, value).unwrap();
}

fn add(clone: &Clone, key: &str, value: &str) {
    git(clone).config().unwrap().set_multivar(key, "^$", value).unwrap();
}

fn remote_tip(path: &Path) -> Option<String> {
    git2::Repository::open(path).unwrap().refname_to_id(REF).ok().map(|oid| oid.to_string())
}

fn live(clone: &Clone) -> usize {
    clone.replica.catalog().live_count()
}

#[test]
fn the_users_refspec_does_not_move_our_ref() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        for clone in &clones {
            set(clone, "remote.origin.fetch", "+refs/*:refs/*");
            set(clone, "remote.origin.mirror", "true");
        }
        clones[1].run(&create("bd-b1", "two"));
        assert!(clones[1].sync().pushed, "{transport:?}: a mirror clone pushes too");
        clones[0].run(&create("bd-c1", "three"));
        let repository = clones[0].repository();
        clones[0].replica.checkpoint(&repository).unwrap();
        let before = clones[0].tip();
        clones[0].remote().fetch().unwrap();
        assert_eq!(clones[0].tip(), before, "{transport:?}: the ref stays where it was");
        let mut names: Vec<_> =
            git(&clones[0]).references().unwrap().names().map(|name| name.unwrap().to_owned()).collect();
        names.retain(|name| !name.starts_with("refs/beads/"));
        assert_eq!(names, [REF, "refs/remotes/origin/beads/store"], "{transport:?}");
        sync_all(&mut clones);
        assert_eq!(live(&clones[0]), 3);
    }
}

#[test]
fn commits_that_others_removed_from_the_ref_come_back() {
    for how in ["rewound", "deleted", "replaced", "rewound and its record with it"] {
        for alive in [true, false] {
            let (_root, mut clones) = world(&["ann"], Transport::Native);
            let mut ann = clones.pop().unwrap();
            ann.run(&create("bd-a1", "one"));
            let repository = ann.repository();
            ann.replica.checkpoint(&repository).unwrap();
            let early = ann.tip().unwrap();
            ann.run(&create("bd-b1", "two"));
            ann.run(&retitle("bd-a1", "better"));
            ann.replica.checkpoint(&repository).unwrap();
            let late = ann.tip().unwrap();
            let git = git(&ann);
            match how {
                "deleted" => git.find_reference(REF).unwrap().delete().unwrap(),
                "replaced" => {
                    let empty = beads_core::State::default().encode();
                    let other = ann.repository().write(&empty, &[], "other").unwrap();
                    git.reference(REF, Oid::from_str(&other).unwrap(), true, "test").unwrap();
                }
                _ => {
                    git.reference(REF, Oid::from_str(&early).unwrap(), true, "test").unwrap();
                }
            }
            if how.ends_with("with it") {
                git.find_reference("refs/beads/saved").unwrap().delete().unwrap();
            }
            let mut ann = if alive { ann } else { ann.reopen() };
            assert_eq!(live(&ann), 2, "{how}");
            ann.replica.checkpoint(&repository).unwrap();
            let ann = ann.reopen();
            assert_eq!(live(&ann), 2, "{how}");
            let tip = ann.tip().unwrap();
            assert!(
                ann.repository().is_ancestor(&late, &tip).unwrap(),
                "{how}: the history is complete again"
            );
            assert!(ann.state().conflicts().is_empty(), "{how}: nothing was concurrent");
        }
    }
}

#[test]
fn a_store_whose_ref_and_commits_are_gone_does_not_open_as_empty() {
    let (_root, mut clones) = world(&["ann"], Transport::Native);
    let mut ann = clones.pop().unwrap();
    ann.run(&create("bd-a1", "one"));
    let repository = ann.repository();
    ann.replica.checkpoint(&repository).unwrap();
    let tip = ann.tip().unwrap();
    let git = git(&ann);
    for name in [REF, "refs/beads/saved"] {
        git.find_reference(name).unwrap().delete().unwrap();
    }
    let (fan_out, rest) = tip.split_at(2);
    std::fs::remove_file(git.path().join("objects").join(fan_out).join(rest)).unwrap();
    let git_dir = ann.git_dir.clone();
    drop(ann);
    let opened = Clone::try_open(&git_dir, "ann", Transport::Native).map(|clone| live(&clone));
    let error = opened.unwrap_err();
    assert_eq!(error.code(), beads_core::Code::CorruptStore);
    assert!(error.to_string().contains(&tip), "{error}");
}

#[test]
fn settings_for_the_users_own_pushes_do_not_affect_ours() {
    for transport in transports() {
        for (key, value) in [
            ("push.recurseSubmodules", "only"),
            ("push.gpgSign", "true"),
            ("push.pushOption", "ci.skip"),
            ("push.followTags", "true"),
            ("remote.origin.mirror", "true"),
            ("remote.origin.push", "refs/heads/*:refs/heads/*"),
            ("fetch.prune", "true"),
            ("submodule.recurse", "true"),
        ] {
            let (root, mut clones) = world(&["ann"], transport);
            set(&clones[0], key, value);
            clones[0].run(&create("bd-a1", "one"));
            assert!(clones[0].sync().pushed, "{transport:?}: {key}");
            assert_eq!(remote_tip(&root.path().join("remote.git")), clones[0].tip(), "{transport:?}: {key}");
        }
    }
}

#[test]
fn the_first_of_several_urls_counts_in_both_directions() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        let second = root.path().join("second.git");
        git2::Repository::init_bare(&second).unwrap();
        add(&clones[0], "remote.origin.url", second.to_str().unwrap());
        clones[0].run(&create("bd-a1", "one"));
        clones[1].run(&create("bd-b1", "two"));
        sync_all(&mut clones);
        assert_eq!(live(&clones[1]), 2);
        assert_eq!(remote_tip(&second), None, "{transport:?}");
        // Another URL of the same repository is fine.
        let url = format!("file://{}", root.path().join("remote.git").display());
        set(&clones[0], "remote.origin.pushurl", &url);
        clones[0].run(&create("bd-c1", "three"));
        assert!(clones[0].sync().pushed, "{transport:?}");
    }
}

#[test]
fn a_push_url_elsewhere_is_named_and_never_reported_as_pushed() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        let elsewhere = root.path().join("elsewhere.git");
        git2::Repository::init_bare(&elsewhere).unwrap();
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        set(&clones[0], "remote.origin.pushurl", elsewhere.to_str().unwrap());
        clones[0].run(&create("bd-b1", "two"));
        let error = clones[0].try_sync(|_| {}).unwrap_err();
        assert!(matches!(error, Error::PushRefused { .. }), "{transport:?}: {error}");
        assert!(error.to_string().contains("elsewhere.git"), "{transport:?}: {error}");
        assert!(error.to_string().contains("sync.remote"), "{transport:?}: {error}");
    }
}

#[test]
fn relative_urls_start_at_the_work_tree() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        set(&clones[0], "remote.origin.url", "../remote.git");
        clones[0].run(&create("bd-a1", "one"));
        assert!(clones[0].sync().pushed, "{transport:?}");
        assert_eq!(remote_tip(&root.path().join("remote.git")), clones[0].tip());
        // In a bare repository they start at the repository itself.
        let bare = git2::Repository::init_bare(root.path().join("bare.git")).unwrap();
        bare.remote("origin", "../remote.git").unwrap();
        let mut bare = Clone::open(bare.path(), "bare", transport);
        assert!(bare.sync().pulled, "{transport:?}");
        assert_eq!(live(&bare), 1);
    }
}

#[test]
fn a_conflicting_branch_is_named() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        let remote = git2::Repository::open(root.path().join("remote.git")).unwrap();
        let commit =
            clones[0].repository().write(&beads_core::State::default().encode(), &[], "any").unwrap();
        let commit = Oid::from_str(&commit).unwrap();
        git(&clones[0]).reference("refs/heads/beads", commit, true, "test").unwrap();
        clones[0].run(&create("bd-a1", "one"));
        let error = clones[0].try_sync(|_| {}).unwrap_err();
        assert!(matches!(error, Error::ConflictingBranch), "{error}");
        git(&clones[0])
            .find_reference("refs/heads/beads")
            .unwrap()
            .rename("refs/heads/mine", false, "test")
            .unwrap();

        let url = git(&clones[0]).path().to_str().unwrap().to_owned();
        let mut there = remote.remote_anonymous(&url).unwrap();
        there.fetch(&["refs/heads/mine:refs/heads/beads"], None, None).unwrap();
        let mut rounds = 0;
        let error = clones[0].try_sync(|_| rounds += 1).unwrap_err();
        assert!(matches!(error, Error::RemoteConflictingBranch { .. }), "{transport:?}: {error}");
        assert_eq!(rounds, 0, "{transport:?}: nothing is retried");
        remote.find_reference("refs/heads/beads").unwrap().rename("refs/heads/old", false, "test").unwrap();
        assert!(clones[0].sync().pushed, "{transport:?}");
    }
}

#[test]
fn a_stale_conflicting_tracking_ref_is_removed() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        // The remote had a branch `beads` when the user last fetched.
        let blob = git(&clones[1]).blob(b"anything").unwrap();
        git(&clones[1]).reference("refs/remotes/origin/beads", blob, true, "fetch").unwrap();
        clones[1].sync();
        assert_eq!(live(&clones[1]), 1, "{transport:?}");
    }
}

#[test]
fn a_ref_that_cannot_be_moved_is_not_a_lost_race() {
    for transport in transports().into_iter().filter(|transport| *transport == Transport::Git) {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        let lock = root.path().join("remote.git").join(format!("{REF}.lock"));
        std::fs::write(&lock, "").unwrap();
        clones[0].run(&create("bd-b1", "two"));
        let mut rounds = 0;
        let error = clones[0].try_sync(|_| rounds += 1).unwrap_err();
        assert!(matches!(error, Error::PushRefused { .. }), "{error}");
        assert!(error.to_string().contains("lock"), "{error}");
        assert!(rounds < 5, "{rounds} pauses");
        std::fs::remove_file(lock).unwrap();
        assert!(clones[0].sync().pushed);
    }
}

#[test]
fn a_remote_named_like_an_option_is_a_remote() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        let name = "--upload-pack=false";
        let url = root.path().join("remote.git");
        set(&clones[0], &format!("remote.{name}.url"), url.to_str().unwrap());
        let remote = AnyRemote::open(&clones[0].git_dir, name, transport, Duration::from_secs(60));
        assert_eq!(remote.fetch().unwrap(), clones[0].tip(), "{transport:?}");
    }
}

#[test]
fn a_tracking_ref_without_its_objects_is_fetched_again() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        // As after a sync whose objects went into another directory.
        let tip = clones[0].tip().unwrap();
        let path = clones[1].git_dir.join("refs/remotes/origin/beads");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("store"), format!("{tip}\n")).unwrap();
        assert!(clones[1].sync().pulled, "{transport:?}");
        assert_eq!(live(&clones[1]), 1);
    }
}

/// Stops the garbage collection however the test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `git gc` runs at any time, even in the middle of a save, and the process may die at any of these moments.
#[test]
fn garbage_collection_deletes_nothing_of_a_store() {
    if transports().len() < 2 {
        return;
    }
    let (_root, mut clones) = world(&["ann"], Transport::Native);
    let ann = clones.pop().unwrap();
    let (git_dir, stopped) = (ann.git_dir.clone(), AtomicBool::new(false));
    let ann = std::thread::scope(|scope| {
        let _stop = Stop(&stopped);
        scope.spawn(|| {
            while !stopped.load(Ordering::Relaxed) {
                let mut collect = Command::new("git");
                collect.arg("--git-dir").arg(&git_dir).args(["gc", "--quiet", "--prune=now"]);
                let _ = collect.stderr(Stdio::null()).status();
            }
        });
        let mut ann = ann;
        for round in 0..20 {
            ann.run(&create(&format!("bd-a{round}"), "kept"));
            let repository = ann.repository();
            let saved = ann.replica.checkpoint(&repository);
            if round % 3 == 0 {
                ann = ann.reopen_after_a_crash();
            }
            assert_eq!(live(&ann), round + 1, "{saved:?}");
        }
        ann
    });
    let mut ann = ann.reopen_after_a_crash();
    let repository = ann.repository();
    ann.replica.checkpoint(&repository).unwrap();
    assert_eq!(live(&ann.reopen()), 20);
}
