//! Archived beads between several replicas and one bare remote, over both transports.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; a skipped one prints why

use beads_core::op::{Archive, Close, NoteAdd, Restore};
use beads_core::{Bead, Error as CoreError, Op, State, Status, Timestamp};
use beads_store::{Error, GitRepository, JoinOnly, Repository, Transport, read_archive};
use tempfile::TempDir;

use crate::clones::{Clone, create, retitle, sync_all, tick, transports, world};

fn archive_all() -> Op {
    Op::Archive(Archive { closed_before: Timestamp::from_ms(beads_core::limits::MAX_MS - 1).unwrap() })
}

fn close(id: &str) -> Op {
    Op::Close(Close { id: id.into(), ..Close::default() })
}

fn note(id: &str, text: &str) -> Op {
    Op::NoteAdd(NoteAdd { id: id.into(), content: text.parse().unwrap(), ..NoteAdd::default() })
}

fn is_hollow(clone: &Clone, id: &str) -> bool {
    let catalog = clone.replica.catalog();
    catalog.bead(catalog.resolve_any(id).unwrap()).unwrap().is_hollow()
}

fn live(clone: &Clone, id: &str) -> Bead {
    let catalog = clone.replica.catalog();
    Bead::clone(catalog.bead(catalog.resolve(id).unwrap()).unwrap())
}

fn archive_of(clone: &Clone) -> State {
    read_archive(&clone.repository()).unwrap()
}

fn restore(clone: &mut Clone, id: &str) {
    let lineage = clone.replica.catalog().resolve_any(id).unwrap().clone();
    let archive = archive_of(clone);
    assert!(clone.replica.thaw(&lineage, &archive).unwrap());
    clone.run(&Op::Restore(Restore { id: id.into(), ..Restore::default() }));
}

fn saved_tombstones(clone: &Clone) -> String {
    let tip = clone.tip().unwrap();
    String::from_utf8(clone.repository().snapshot(&tip).unwrap().tombstones).unwrap()
}

#[test]
fn content_moves_to_the_archive_and_comes_back_on_any_machine() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben", "cy"], transport);
        clones[0].run(&create("bd-a1", "done long ago"));
        clones[0].run(&create("bd-a2", "open"));
        clones[0].run(&close("bd-a1"));
        sync_all(&mut clones[..2]);
        clones[0].run(&archive_all());
        assert_eq!(clones[0].replica.catalog().live_count(), 1);
        sync_all(&mut clones[..2]);
        for clone in &clones[..2] {
            assert!(is_hollow(clone, "bd-a1"), "{}", clone.actor);
            assert!(!saved_tombstones(clone).contains("done long ago"));
            assert_eq!(clone.state().format_version(), 3);
        }
        assert_eq!(clones[0].tip(), clones[1].tip());
        // A machine that never had the bead gets the archive with its first sync.
        clones[2].sync();
        assert!(is_hollow(&clones[2], "bd-a1"));
        assert_eq!(archive_of(&clones[2]).beads().len(), 1);
        let refused = clones[2].try_run(&retitle("bd-a1", "x")).unwrap_err();
        assert!(matches!(refused, Error::Core(CoreError::Archived { .. })), "{refused}");
        restore(&mut clones[2], "bd-a1");
        let mut clones: Vec<_> = clones.into_iter().map(Clone::reopen).collect();
        sync_all(&mut clones);
        for clone in &clones {
            let catalog = clone.replica.catalog();
            let bead = catalog.bead(catalog.resolve("bd-a1").unwrap()).unwrap();
            assert_eq!((bead.title.value.as_str(), bead.status()), ("done long ago", Status::Closed));
        }
        assert!(!clones[0].sync().pushed, "idle replicas exchange nothing");
    }
}

#[test]
fn archiving_on_two_machines_at_once_converges() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        for id in ["bd-a1", "bd-a2", "bd-a3"] {
            clones[0].run(&create(id, "done"));
            clones[0].run(&close(id));
        }
        sync_all(&mut clones);
        clones[0].run(&archive_all());
        clones[1].run(&archive_all());
        sync_all(&mut clones);
        assert_eq!(clones[0].tip(), clones[1].tip());
        assert_eq!(clones[0].state().encode(), clones[1].state().encode());
        assert_eq!(archive_of(&clones[0]).beads().len(), 3);
        assert_eq!(
            clones[0].repository().archive_tip().unwrap(),
            clones[1].repository().archive_tip().unwrap(),
            "both have the archive of the remote"
        );
    }
}

#[test]
fn a_bead_that_was_changed_meanwhile_stays_live_with_everything() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        // Ben never sees the last writes of Ann before she archives.
        clones[0].run(&retitle("bd-a1", "better"));
        clones[0].run(&close("bd-a1"));
        clones[0].run(&archive_all());
        clones[0].sync();
        assert!(is_hollow(&clones[0], "bd-a1"));
        tick();
        clones[1].run(&note("bd-a1", "still needed"));
        sync_all(&mut clones);
        for clone in &clones {
            let catalog = clone.replica.catalog();
            let bead = catalog.bead(catalog.resolve("bd-a1").unwrap()).unwrap();
            assert_eq!((bead.title.value.as_str(), bead.notes.len()), ("better", 1), "{}", clone.actor);
            assert_eq!(bead.status(), Status::Closed);
        }
        assert_eq!(clones[0].tip(), clones[1].tip());
        assert!(clones[0].state().conflicts().is_empty(), "a note conflicts with nothing");
    }
}

#[test]
fn a_write_that_knew_the_archived_content_is_no_conflict() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        clones[0].run(&retitle("bd-a1", "better"));
        sync_all(&mut clones);
        clones[0].run(&close("bd-a1"));
        clones[0].run(&archive_all());
        clones[0].sync();
        tick();
        clones[1].run(&retitle("bd-a1", "best"));
        sync_all(&mut clones);
        for clone in &clones {
            assert_eq!(live(clone, "bd-a1").title.value.as_str(), "best");
            assert_eq!(clone.state().conflicts().len(), 0, "{:?}", clone.state().conflicts());
        }
    }
}

/// Returns two clones: Ben's write, which Ann has not seen, is in the archive of the remote, but not in Ann's.
fn with_an_unseen_write(transport: Transport, write: &Op) -> (TempDir, Vec<Clone>) {
    let (root, mut clones) = world(&["ann", "ben"], transport);
    clones[0].run(&create("bd-a1", "one"));
    sync_all(&mut clones);
    clones[1].run(write);
    tick();
    clones[0].run(&close("bd-a1"));
    clones[0].run(&archive_all());
    sync_all(&mut clones);
    assert!(clones.iter().all(|clone| is_hollow(clone, "bd-a1")));
    (root, clones)
}

#[test]
fn a_later_process_completes_a_bead_that_was_saved_while_the_archive_was_out_of_reach() {
    for transport in transports() {
        let (root, mut clones) = with_an_unseen_write(transport, &note("bd-a1", "unseen"));
        restore(&mut clones[0], "bd-a1");
        let (here, away) = (root.path().join("remote.git"), root.path().join("away.git"));
        std::fs::rename(&here, &away).unwrap();
        assert!(clones[0].try_sync(|_| {}).is_err());
        assert!(live(&clones[0], "bd-a1").notes.values().all(|note| note.content.as_str() != "unseen"));
        std::fs::rename(&away, &here).unwrap();
        let mut clones: Vec<_> = clones.into_iter().map(Clone::reopen).collect();
        // Others that still have the marker would complete the bead, too; a later clone would not.
        clones[0].sync();
        let is_complete =
            |clone: &Clone| live(clone, "bd-a1").notes.values().any(|note| note.content.as_str() == "unseen");
        assert!(is_complete(&clones[0]));
        sync_all(&mut clones);
        assert!(clones.iter().all(is_complete));
        assert!(!clones[0].git_dir.join("beads/unhealed").exists());
    }
}

#[test]
fn a_value_that_only_the_archive_had_is_kept_as_a_conflict() {
    for transport in transports() {
        let (_root, mut clones) = with_an_unseen_write(transport, &retitle("bd-a1", "by ben"));
        restore(&mut clones[0], "bd-a1");
        clones[0].run(&retitle("bd-a1", "by ann"));
        sync_all(&mut clones);
        for clone in &clones {
            assert_eq!(live(clone, "bd-a1").title.value.as_str(), "by ann");
            let lost: Vec<_> = clone.state().conflicts().values().map(|lost| lost.value.clone()).collect();
            assert_eq!(lost, ["by ben"], "{}", clone.actor);
        }
    }
}

#[test]
fn the_archive_is_published_with_the_store_and_not_without_consent() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "precious"));
        clones[0].run(&close("bd-a1"));
        clones[0].run(&archive_all());
        let checkpoint = clones[0].replica.begin_checkpoint().unwrap();
        let (saved, moved) = checkpoint.save_and_archive(&clones[0].repository()).unwrap();
        moved.unwrap();
        clones[0].replica.finish_checkpoint(saved, Vec::new()).unwrap();
        assert!(is_hollow(&clones[0], "bd-a1"));
        let remote = GitRepository::open(&root.path().join("remote.git")).unwrap();
        let checkpoint = clones[0].replica.begin_checkpoint().unwrap();
        let join_only = JoinOnly::new(clones[0].remote(), false);
        let (saved, exchanged) = checkpoint.sync(&clones[0].repository(), &join_only, |_| {}).unwrap();
        exchanged.unwrap();
        clones[0].replica.finish_checkpoint(saved, Vec::new()).unwrap();
        assert_eq!((remote.tip().unwrap(), remote.archive_tip().unwrap()), (None, None));
        clones[0].sync();
        assert!(remote.tip().unwrap().is_some());
        assert_eq!(read_archive(&remote).unwrap().beads().len(), 1);
    }
}

#[test]
fn an_earlier_write_that_arrives_later_is_added_to_the_archive() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        clones[1].run(&note("bd-a1", "unseen"));
        tick();
        clones[0].run(&close("bd-a1"));
        clones[0].run(&archive_all());
        sync_all(&mut clones);
        for clone in &clones {
            assert!(is_hollow(clone, "bd-a1"), "{}", clone.actor);
        }
        // Ann's copy of the archive is out of date; the sync that publishes the bead completes it.
        restore(&mut clones[0], "bd-a1");
        clones[0].sync();
        let catalog = clones[0].replica.catalog();
        let bead = catalog.bead(catalog.resolve("bd-a1").unwrap()).unwrap();
        assert!(bead.notes.values().any(|note| note.content.as_str() == "unseen"));
    }
}

#[test]
fn content_stays_until_the_archive_was_seen_on_the_remote() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "precious"));
        clones[0].run(&close("bd-a1"));
        clones[0].sync();
        clones[0].run(&archive_all());
        let moved = root.path().join("away.git");
        std::fs::rename(root.path().join("remote.git"), &moved).unwrap();
        assert!(clones[0].try_sync(|_| {}).is_err());
        assert!(!is_hollow(&clones[0], "bd-a1"));
        assert!(saved_tombstones(&clones[0]).contains("precious"));
        std::fs::rename(&moved, root.path().join("remote.git")).unwrap();
        clones[0].sync();
        assert!(is_hollow(&clones[0], "bd-a1"));
        let remote = GitRepository::open(&root.path().join("remote.git")).unwrap();
        assert_eq!(read_archive(&remote).unwrap().beads().len(), 1);
    }
}

#[test]
fn a_damaged_archive_on_the_remote_is_refused_and_nothing_is_given_up() {
    for transport in transports() {
        let (root, mut clones) = world(&["ann"], transport);
        clones[0].run(&create("bd-a1", "precious"));
        clones[0].run(&close("bd-a1"));
        clones[0].sync();
        let git = git2::Repository::open(root.path().join("remote.git")).unwrap();
        let who = git2::Signature::now("x", "x@localhost").unwrap();
        let mut tree = git.treebuilder(None).unwrap();
        tree.insert("state.jsonl", git.blob(b"{}\n").unwrap(), 0o100_644).unwrap();
        let tree = git.find_tree(tree.write().unwrap()).unwrap();
        git.commit(Some("refs/heads/beads/archive"), &who, &who, "x", &tree, &[]).unwrap();
        clones[0].run(&archive_all());
        let refused = clones[0].try_sync(|_| {}).unwrap_err();
        assert!(matches!(refused, Error::RemoteInvalid { .. }), "{refused}");
        assert!(!is_hollow(&clones[0], "bd-a1"));
    }
}

#[test]
fn a_write_during_the_sync_that_archives_its_bead_survives_a_crash() {
    for transport in transports() {
        let (_root, mut clones) = world(&["ann", "ben"], transport);
        clones[0].run(&create("bd-a1", "one"));
        sync_all(&mut clones);
        clones[0].run(&close("bd-a1"));
        clones[0].run(&archive_all());
        clones[0].sync();
        let mut ben = clones.remove(1);
        let repository = ben.repository();
        let checkpoint = ben.replica.begin_checkpoint().unwrap();
        ben.run(&note("bd-a1", "in between"));
        let (saved, exchange) = checkpoint.sync(&repository, &ben.remote(), |_| {}).unwrap();
        exchange.unwrap();
        // The ref has moved, but memory and journal have not followed.
        drop(saved);
        let mut ben = ben.reopen();
        let catalog = ben.replica.catalog();
        let bead = catalog.bead(catalog.resolve_any("bd-a1").unwrap()).unwrap();
        assert_eq!((bead.title.value.as_str(), bead.notes.len(), bead.status()), ("one", 1, Status::Closed));
        ben.sync();
        clones[0].sync();
        assert_eq!(ben.state().encode(), clones[0].state().encode());
    }
}

#[test]
fn without_a_remote_the_archive_is_in_this_repository() {
    let root = tempfile::tempdir().unwrap();
    let git = git2::Repository::init(root.path().join("alone")).unwrap();
    let mut alone = Clone::open(git.path(), "ann", Transport::Native);
    alone.run(&create("bd-a1", "precious"));
    alone.run(&close("bd-a1"));
    alone.run(&archive_all());
    let checkpoint = alone.replica.begin_checkpoint().unwrap();
    let (saved, moved) = checkpoint.save_and_archive(&alone.repository()).unwrap();
    moved.unwrap();
    alone.replica.finish_checkpoint(saved, Vec::new()).unwrap();
    let mut alone = alone.reopen();
    assert!(is_hollow(&alone, "bd-a1"));
    restore(&mut alone, "bd-a1");
    assert_eq!(alone.replica.catalog().live_count(), 1);
}
