//! A long history stays small, and packing loses none of it.

use beads_core::op::{Create, Op, Update};
use beads_store::{Caller, GitRepository, PACK_AFTER, REF, RealDisk, RealWorld, Replica, Repository};

fn caller() -> Caller {
    Caller { actor: "ann".parse().unwrap(), branch: Default::default(), lease_ms: 1, request: None }
}

fn store() -> (tempfile::TempDir, GitRepository, Replica<RealDisk, RealWorld>) {
    let directory = tempfile::tempdir().unwrap();
    let repository = GitRepository::open_or_init_bare(directory.path()).unwrap();
    let disk = RealDisk::new(directory.path().join("beads"));
    let replica = Replica::open(disk, &repository, RealWorld).unwrap();
    (directory, repository, replica)
}

fn loose_objects(git_dir: &std::path::Path) -> usize {
    let fan_outs = std::fs::read_dir(git_dir.join("objects")).unwrap().map(|entry| entry.unwrap());
    let fan_outs = fan_outs.filter(|entry| entry.file_name().len() == 2);
    fan_outs.map(|entry| std::fs::read_dir(entry.path()).unwrap().count()).sum()
}

#[test]
fn packing_keeps_every_commit_and_removes_the_loose_objects() {
    let (directory, repository, mut replica) = store();
    for number in 0..50 {
        let create = Create {
            id: Some(format!("bd-{number}").parse().unwrap()),
            ..Create::titled("bead".parse().unwrap())
        };
        replica.apply(&Op::Create(Box::new(create)), &caller()).unwrap();
    }
    let mut tips = Vec::new();
    for round in 0..40 {
        let update = Update { title: Some(format!("round {round}").parse().unwrap()), ..Update::of("bd-7") };
        replica.apply(&Op::Update(Box::new(update)), &caller()).unwrap();
        replica.checkpoint(&repository).unwrap();
        tips.push(repository.tip().unwrap().unwrap());
    }
    let snapshots: Vec<_> = tips.iter().map(|tip| repository.snapshot(tip).unwrap()).collect();
    assert!(loose_objects(directory.path()) >= 40 * 3);
    assert!(repository.pack_loose_history().unwrap() > 0);
    assert_eq!(loose_objects(directory.path()), 0);
    assert_eq!(repository.pack_loose_history().unwrap(), 0, "nothing is left to pack");
    let again = GitRepository::open(directory.path()).unwrap();
    for (tip, snapshot) in tips.iter().zip(&snapshots) {
        assert!(again.snapshot(tip).unwrap() == *snapshot, "{tip} changed");
    }
    let git = git2::Repository::open_bare(directory.path()).unwrap();
    assert_eq!(git.refname_to_id(REF).unwrap().to_string(), *tips.last().unwrap());
}

#[test]
fn objects_that_a_crash_left_aside_are_restored() {
    let (directory, repository, mut replica) = store();
    replica.checkpoint(&repository).unwrap();
    let tip = repository.tip().unwrap().unwrap();
    let objects = directory.path().join("objects");
    let aside = objects.join("beads-packed");
    std::fs::create_dir(&aside).unwrap();
    std::fs::rename(objects.join(&tip[..2]).join(&tip[2..]), aside.join(&tip)).unwrap();
    repository.pack_loose_history().unwrap();
    assert!(!aside.exists());
    GitRepository::open(directory.path()).unwrap().snapshot(&tip).unwrap();
}

/// libgit2 never returns from such an object.
#[test]
fn a_history_with_a_truncated_object_is_not_packed_and_nothing_is_lost() {
    let (directory, repository, mut replica) = store();
    for number in 0..PACK_AFTER {
        let create = Create::titled(format!("bead {number}").parse().unwrap());
        replica.apply(&Op::Create(Box::new(create)), &caller()).unwrap();
        replica.checkpoint(&repository).unwrap();
    }
    let git = git2::Repository::open_bare(directory.path()).unwrap();
    let old = git.find_reference(REF).unwrap().peel_to_commit().unwrap().parent(0).unwrap();
    let (commit, tree) = (old.id(), old.tree_id());
    let blob = git.find_tree(tree).unwrap().get_name("state.jsonl").unwrap().id();
    for object in [blob, tree, commit].map(|id| id.to_string()) {
        let path = directory.path().join("objects").join(&object[..2]).join(&object[2..]);
        let whole = std::fs::read(&path).unwrap();
        // libgit2 makes its files read-only, so replace it.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let before = loose_objects(directory.path());
        let again = GitRepository::open(directory.path()).unwrap();
        assert!(again.pack_loose_history().is_err());
        assert_eq!(loose_objects(directory.path()), before);
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(GitRepository::open(directory.path()).unwrap().pack_loose_history().unwrap() > 0);
}
