//! Several replicas and one bare remote on this machine, over both transports: each test covers one thing
//! that can happen between two replicas.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; a skipped one prints why

use std::time::Duration;

use beads_core::op::{DepAdd, Update};
use beads_core::{EdgeKind, Field, Op, Priority};
use beads_store::{AnyRemote, Error, GitProgram, Pushed, REF, Remote, Transport};

use crate::clones::{Clone, create, retitle, sync_all, tick, transports, world};

#[test]
fn the_first_push_creates_the_branch_and_a_second_replica_adopts_it_without_a_commit() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        assert!(clones[0].sync().pushed);
        let exchange = clones[1].sync();
        assert!(exchange.pulled && !exchange.pushed);
        assert_eq!(clones[0].tip(), clones[1].tip());
        let quiet = clones[0].sync();
        assert!(!quiet.pulled && !quiet.pushed, "two idle replicas exchange nothing");
    }
}

#[test]
fn concurrent_edits_of_different_fields_both_survive_without_a_conflict() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        clones[0].run(&retitle("bd-a1", "better"));
        clones[1]
            .run(&Op::Update(Box::new(Update { priority: Some(Priority::HIGHEST), ..Update::of("bd-a1") })));
        sync_all(&mut clones);
        let view =
            clones[0].replica.catalog().view(clones[0].replica.catalog().resolve("bd-a1").unwrap()).unwrap();
        assert_eq!((view.title.as_str(), view.priority), ("better", Priority::HIGHEST));
        assert!(clones[0].state().conflicts().is_empty());
    }
}

#[test]
fn the_losing_title_is_kept_and_can_be_restored() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        clones[0].run(&retitle("bd-a1", "from ann"));
        tick();
        clones[1].run(&retitle("bd-a1", "from ben"));
        sync_all(&mut clones);
        let conflicts: Vec<_> = clones[1].state().conflicts().iter().collect();
        let [(id, conflict)] = conflicts.as_slice() else { panic!("one conflict, not {}", conflicts.len()) };
        assert_eq!((conflict.field, conflict.value.as_str()), (Field::Title, Some("from ann")));
        let restore = Op::ConflictRestore(beads_core::op::ConflictRestore { id: (*id).clone() });
        clones[1].run(&restore);
        sync_all(&mut clones);
        let catalog = clones[0].replica.catalog();
        let bead = catalog.bead(catalog.resolve("bd-a1").unwrap()).unwrap();
        assert_eq!(bead.title.value.as_str(), "from ann");
        assert!(clones[0].state().conflicts().values().all(|conflict| conflict.dismissed.is_some()));
    }
}

#[test]
fn an_id_taken_on_both_sides_belongs_to_the_older_bead() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "older"));
        tick();
        clones[1].run(&create("bd-a1", "younger"));
        clones[1].run(&create("bd-b1", "needs it"));
        let dep = DepAdd { from: "bd-b1".into(), to: "bd-a1".into(), kind: EdgeKind::Blocks };
        clones[1].run(&Op::DepAdd(dep));
        sync_all(&mut clones);
        let catalog = clones[0].replica.catalog();
        let title = |id: &str| catalog.view(catalog.resolve(id).unwrap()).unwrap().title.to_string();
        assert_eq!(title("bd-a1"), "older");
        let needs = catalog.view(catalog.resolve("bd-b1").unwrap()).unwrap();
        let followed = &needs.dependencies[0].id;
        assert_ne!(followed.as_str(), "bd-a1", "the edge follows its bead");
        assert_eq!(title(followed.as_str()), "younger");
    }
}

#[test]
fn any_shape_of_remote_history_is_joined() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        let remote = git2::Repository::open_bare(root.path().join("remote.git")).unwrap();
        let early = remote.refname_to_id(REF).unwrap();
        clones[1].run(&create("bd-b1", "two"));
        sync_all(&mut clones);
        // Rewound.
        remote.reference(REF, early, true, "test").unwrap();
        clones[0].run(&create("bd-c1", "three"));
        sync_all(&mut clones);
        // Deleted, then created again.
        remote.find_reference(REF).unwrap().delete().unwrap();
        clones[1].run(&create("bd-d1", "four"));
        sync_all(&mut clones);
        // Replaced by an unrelated history.
        let (other_root, mut others) = world(&["cyd"], transport);
        others[0].run(&create("bd-e1", "five"));
        others[0].sync();
        let stranger = other_root.path().join("remote.git");
        let mut strange = remote.remote_anonymous(stranger.to_str().unwrap()).unwrap();
        strange.fetch(&[format!("+{REF}:{REF}")], None, None).unwrap();
        sync_all(&mut clones);
        assert_eq!(clones[0].replica.catalog().live_count(), 5);
    }
}

#[test]
fn a_rival_push_between_fetch_and_push_never_vanishes() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        let seen = clones[0].remote().fetch().unwrap();
        clones[1].run(&create("bd-b1", "rival"));
        clones[1].sync();
        clones[0].run(&create("bd-c1", "late"));
        let repository = clones[0].repository();
        clones[0].replica.checkpoint(&repository).unwrap();
        let tip = clones[0].tip().unwrap();
        for expected in [seen.as_deref(), None] {
            let pushed = clones[0].remote().push(expected, &tip).unwrap();
            assert!(matches!(pushed, Pushed::Lost(_)), "{transport:?}: {pushed:?}");
        }
        sync_all(&mut clones);
        assert_eq!(clones[1].replica.catalog().live_count(), 3);
    }
}

#[test]
fn after_an_error_of_the_remote_all_changes_are_saved_locally() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "one"));
        let remote = root.path().join("remote.git");
        std::fs::rename(&remote, root.path().join("away.git")).unwrap();
        assert!(matches!(clones[0].try_sync(|_| {}), Err(Error::Remote { .. })), "{transport:?}");
        let mut clone = clones.pop().unwrap().reopen();
        assert_eq!(clone.replica.catalog().live_count(), 1);
        // Not a valid store: it is refused, and nothing changes here.
        std::fs::rename(root.path().join("away.git"), &remote).unwrap();
        let tip = clone.tip();
        let git = git2::Repository::open_bare(&remote).unwrap();
        let who = git2::Signature::now("x", "x@localhost").unwrap();
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        git.commit(Some(REF), &who, &who, "not ours", &tree, &[]).unwrap();
        assert!(matches!(clone.try_sync(|_| {}), Err(Error::RemoteInvalid { .. })));
        assert_eq!(clone.tip(), tip);
        // Repaired.
        git.find_reference(REF).unwrap().delete().unwrap();
        assert!(clone.sync().pushed);
    }
}

#[test]
fn lock_files_left_by_killed_processes_do_not_stop_a_sync() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        let mut places = vec![
            clones[0].git_dir.join("refs/remotes/origin/beads/store.lock"),
            clones[0].git_dir.join(format!("{REF}.lock")),
        ];
        if transport == Transport::Native {
            // With the git program, git itself handles the lock on the remote.
            places.push(root.path().join("remote.git").join(format!("{REF}.lock")));
        }
        for place in places {
            std::fs::File::create(place).unwrap().set_modified(old).unwrap();
        }
        clones[1].run(&create("bd-b1", "two"));
        clones[1].sync();
        // It has nothing to save, so the merge is the first to find the lock on the local ref.
        assert!(clones[0].sync().pulled);
        clones[0].run(&create("bd-c1", "three"));
        sync_all(&mut clones);
        assert_eq!(clones[0].replica.catalog().live_count(), 3);
    }
}

#[test]
fn a_fresh_clone_finds_the_beads_before_its_first_sync() {
    let (root, mut clones) = world(&["ann"], Transport::Native);
    clones[0].run(&create("bd-a1", "one"));
    clones[0].sync();
    let url = root.path().join("remote.git");
    let git = git2::build::RepoBuilder::new()
        .bare(false)
        .clone(url.to_str().unwrap(), &root.path().join("new"))
        .unwrap();
    let clone = Clone::open(git.path(), "new", Transport::Native);
    assert_eq!(clone.replica.catalog().live_count(), 1);
    assert_eq!(clone.tip(), None, "reading creates no ref");
}

/// A fresh clone that has saved nothing has its writes on top of the cloned commit. That commit, not the
/// remote's current one, is the merge base.
#[test]
fn the_first_sync_of_a_fresh_clone_keeps_losing_values() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].sync();
        let url = root.path().join("remote.git");
        let git =
            git2::build::RepoBuilder::new().clone(url.to_str().unwrap(), &root.path().join("new")).unwrap();
        let mut fresh = Clone::open(git.path(), "new", transport);
        fresh.run(&retitle("bd-a1", "from the fresh clone"));
        tick();
        clones[0].run(&retitle("bd-a1", "from ann"));
        clones[0].sync();
        fresh.sync();
        let kept: Vec<_> =
            fresh.state().conflicts().values().map(|conflict| conflict.value.clone()).collect();
        assert_eq!(kept, ["from the fresh clone"]);
    }
}

#[test]
fn a_ref_that_only_ends_like_ours_is_not_ours() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann", "ben"], transport);
        let remote = git2::Repository::open_bare(root.path().join("remote.git")).unwrap();
        let author = git2::Signature::now("a", "b@c").unwrap();
        let tree = remote.find_tree(remote.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let stranger = format!("refs/backup/{REF}");
        remote.commit(Some(&stranger), &author, &author, "another", &tree, &[]).unwrap();
        clones[0].run(&create("bd-a1", "one"));
        assert!(clones[0].sync().pushed);
        assert!(clones[1].sync().pulled);
        assert_eq!(clones[0].tip(), clones[1].tip());
    }
}

#[test]
fn a_plain_directory_needs_no_git_program_and_one_with_a_hook_does() {
    if !GitProgram::is_installed() {
        println!("skipped: the git program is not installed");
        return;
    }
    let (root, mut clones) = world(&["ann", "ben", "cyd"], Transport::Auto);
    clones[1] = Clone::new(root.path(), "git", Transport::Git);
    let is_native = |clone: &Clone| matches!(clone.remote(), AnyRemote::Native(_));
    assert_eq!(clones.iter().map(is_native).collect::<Vec<_>>(), [true, false, true]);
    for round in 0..3 {
        for (index, clone) in clones.iter_mut().enumerate() {
            clone.run(&create(&format!("bd-{index}{round}"), "from each through its transport"));
        }
        // All tips and all bytes are the same.
        sync_all(&mut clones);
    }
    let hook = root.path().join("remote.git/hooks/post-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\ntouch was-run\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(!is_native(&clones[0]));
    clones[0].run(&create("bd-hook", "seen by the hook"));
    sync_all(&mut clones);
    assert!(root.path().join("remote.git/was-run").exists(), "the hook of the remote ran");
}

/// A push copies files, so a damaged object must be noticed before it reaches the remote.
#[test]
fn a_damaged_object_is_not_pushed() {
    let (root, mut clones) = world(&["ann"], Transport::Native);
    clones[0].run(&create("bd-a1", "one"));
    clones[0].sync();
    clones[0].run(&retitle("bd-a1", "two"));
    let repository = clones[0].repository();
    clones[0].replica.checkpoint(&repository).unwrap();
    let tip = clones[0].tip().unwrap();
    let git = git2::Repository::open(&clones[0].git_dir).unwrap();
    let tree = git.find_commit(tip.parse().unwrap()).unwrap().tree().unwrap();
    let [name, other] =
        ["state.jsonl", "meta.json"].map(|file| tree.get_name(file).unwrap().id().to_string());
    // An intact object under the name of another.
    let place = |name: &str| clones[0].git_dir.join("objects").join(&name[..2]).join(&name[2..]);
    std::fs::remove_file(place(&name)).unwrap();
    std::fs::copy(place(&other), place(&name)).unwrap();
    let before = clones[0].remote().fetch().unwrap();
    let pushed = clones[0].remote().push(before.as_deref(), &tip);
    assert!(pushed.is_err(), "{pushed:?}");
    let theirs = root.path().join("remote.git");
    assert!(!theirs.join("objects").join(&name[..2]).join(&name[2..]).exists());
    assert_eq!(clones[0].remote().fetch().unwrap(), before);
}
