//! `bd repair` on real repositories: each kind of damage, and what must survive it.

use std::fs;
use std::path::{Path, PathBuf};

use beads_core::op::{Create, NoteAdd};
use beads_core::{Line, Op, Snapshot};
use beads_store::{Caller, GitRepository, Plan, REF, RealDisk, RealWorld, Replica, Repository, examine};

struct Store {
    root: tempfile::TempDir,
}

impl Store {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        GitRepository::open_or_init_bare(&root.path().join("store.git")).unwrap();
        Self { root }
    }

    /// Opens the repository again each time, because libgit2 caches objects.
    fn repository(&self) -> GitRepository {
        GitRepository::open(&self.git_dir()).unwrap()
    }

    fn git_dir(&self) -> PathBuf {
        self.root.path().join("store.git")
    }

    fn store_dir(&self) -> PathBuf {
        self.git_dir().join("beads")
    }

    fn open(&self) -> beads_store::Result<Replica<RealDisk, RealWorld>> {
        Replica::open(RealDisk::new(self.store_dir()), &self.repository(), RealWorld)
    }

    /// Creates beads with these ids, each in a separate frame.
    fn create(&self, ids: &[&str]) {
        let mut replica = self.open().unwrap();
        for id in ids {
            let create = Create { id: Some(id.parse().unwrap()), ..Create::titled(id.parse().unwrap()) };
            replica.apply(&Op::Create(Box::new(create)), &caller()).unwrap();
            replica.commit().unwrap();
        }
    }

    fn checkpoint(&self) -> String {
        let mut replica = self.open().unwrap();
        replica.checkpoint(&self.repository()).unwrap();
        replica.known_tip().unwrap().to_owned()
    }

    fn snapshot(&self) -> Snapshot {
        self.repository().snapshot(&self.repository().tip().unwrap().unwrap()).unwrap()
    }

    /// Puts a commit with these files on the ref, as a broken tool might.
    fn force(&self, snapshot: &Snapshot) -> String {
        let tip = self.repository().tip().unwrap();
        let parents: Vec<_> = tip.iter().cloned().collect();
        let commit = self.repository().write(snapshot, &parents, "damage").unwrap();
        assert!(self.repository().compare_and_swap_ref(tip.as_deref(), &commit).unwrap());
        commit
    }

    fn examine(&self) -> Option<Plan> {
        examine(&self.store_dir(), &self.repository(), RealWorld).unwrap()
    }

    /// Plans, checks that planning changed nothing, applies, and checks that the store opens.
    fn repair(&self) -> Plan {
        assert_eq!(self.open().unwrap_err().code(), beads_core::Code::CorruptStore);
        let before = listing(self.root.path());
        let plan = self.examine().expect("a store that does not open needs repair");
        assert_eq!(listing(self.root.path()), before, "a plan changes nothing");
        assert!(!plan.damage.is_empty() && !plan.actions.is_empty());
        plan.apply(&self.repository()).unwrap();
        assert!(self.examine().is_none(), "a repaired store is healthy");
        plan
    }

    fn ids(&self) -> Vec<String> {
        let replica = self.open().unwrap();
        replica.catalog().state().names().holders().map(|(id, _)| id.to_string()).collect()
    }

    fn segments(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.store_dir()).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<_> = entries
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("journal."))
            .collect();
        found.sort();
        found
    }

    fn remove_object(&self, id: &str) {
        fs::remove_file(self.git_dir().join("objects").join(&id[..2]).join(&id[2..])).unwrap();
    }

    fn git(&self) -> git2::Repository {
        git2::Repository::open_bare(self.git_dir()).unwrap()
    }
}

fn caller() -> Caller {
    Caller { actor: "ann".parse().unwrap(), branch: Line::default(), lease_ms: 1000, request: None }
}

/// Returns every file with its bytes.
fn listing(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(listing(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

fn break_first_line(snapshot: &mut Snapshot) {
    let end = snapshot.state.iter().position(|byte| *byte == b'\n').unwrap();
    snapshot.state[end - 1] = b'?';
}

#[test]
fn a_healthy_store_needs_nothing() {
    let store = Store::new();
    assert!(store.examine().is_none(), "an empty one");
    store.create(&["bd-1"]);
    assert!(store.examine().is_none(), "one with a journal");
    store.checkpoint();
    assert!(store.examine().is_none(), "one with a commit");
}

#[test]
fn readable_lines_survive_and_the_rest_is_reported() {
    let store = Store::new();
    store.create(&["bd-1", "bd-2", "bd-3"]);
    store.checkpoint();
    let mut snapshot = store.snapshot();
    break_first_line(&mut snapshot);
    let damaged = store.force(&snapshot);
    let plan = store.repair();

    assert_eq!(store.ids(), ["bd-1", "bd-2", "bd-3"], "the first line is still in the commit before");
    let lost: Vec<_> = plan.unreadable.iter().map(|lost| (lost.file.as_str(), lost.line)).collect();
    assert_eq!(lost, [("state.jsonl", Some(1))]);
    let kept = store.git().refname_to_id(plan.backup_ref.as_deref().unwrap()).unwrap();
    assert_eq!(kept.to_string(), damaged);
    let git = store.git();
    let tip = git.find_reference(REF).unwrap().peel_to_commit().unwrap();
    assert_eq!(tip.parent_id(0).unwrap().to_string(), damaged, "history continues from the damaged commit");
}

#[test]
fn a_missing_blob_costs_only_beads_that_no_other_commit_has() {
    let store = Store::new();
    store.create(&["bd-1"]);
    let before = store.checkpoint();
    store.create(&["bd-2"]);
    let damaged = store.checkpoint();
    store.create(&["bd-3"]);
    let git = store.git();
    let tree = git.find_commit(git2::Oid::from_str(&damaged).unwrap()).unwrap().tree().unwrap();
    store.remove_object(&tree.get_name("state.jsonl").unwrap().id().to_string());
    let plan = store.repair();

    assert_eq!(store.ids(), ["bd-1", "bd-3"], "from the commit before, and from the journal");
    assert!(plan.unreadable.iter().any(|lost| lost.file.starts_with("state.jsonl of commit")));
    let tip = store.repository().tip().unwrap().unwrap();
    let git = store.git();
    let tip = git.find_commit(git2::Oid::from_str(&tip).unwrap()).unwrap();
    let parents: Vec<_> = tip.parent_ids().map(|oid| oid.to_string()).collect();
    assert_eq!(parents, [before], "no gap in the history");
    assert!(plan.backup_ref.is_some());
}

#[test]
fn a_missing_commit_falls_back_to_the_journal() {
    let store = Store::new();
    store.create(&["bd-1"]);
    let commit = store.checkpoint();
    store.create(&["bd-2"]);
    store.remove_object(&commit);
    let plan = store.repair();
    assert_eq!(plan.backup_ref, None, "there is nothing to keep under a ref");
    assert_eq!(store.ids(), ["bd-2"]);
}

#[test]
fn a_ref_that_names_no_commit_is_moved_to_the_backup() {
    let store = Store::new();
    store.git().config().unwrap().set_bool("core.logAllRefUpdates", true).unwrap();
    store.create(&["bd-1"]);
    store.checkpoint();
    fs::write(store.git_dir().join(REF), "not a commit\n").unwrap();
    store.repair();
    assert_eq!(store.ids(), ["bd-1"], "the reflog has the previous value");
    let kept = listing(&store.store_dir()).into_iter().find(|(_, bytes)| bytes == b"not a commit\n");
    assert!(kept.is_some(), "the old file is in the backup");
}

#[test]
fn frames_after_a_bad_one_survive() {
    let store = Store::new();
    store.create(&["bd-1", "bd-2", "bd-3"]);
    let mut replica = store.open().unwrap();
    let (position, last) = (replica.position(), replica.catalog().state().stamps().max().unwrap());
    let note = |id: &str| {
        Op::NoteAdd(NoteAdd { id: id.into(), content: "hello".parse().unwrap(), ..NoteAdd::default() })
    };
    replica.apply(&note("bd-2"), &caller()).unwrap();
    replica.commit().unwrap();
    drop(replica);
    let segment = &store.segments()[0];
    let mut bytes = fs::read(segment).unwrap();
    let name = |bytes: &[u8]| bytes.windows(4).position(|window| window == b"bd-2").unwrap();
    let place = name(&bytes);
    bytes[place] ^= 1;
    fs::write(segment, &bytes).unwrap();
    let plan = store.repair();

    assert_eq!(store.ids(), ["bd-1", "bd-3"]);
    let reasons: Vec<_> = plan.unreadable.iter().map(|lost| lost.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("not a frame")), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.contains("a change of bd-2")), "{reasons:?}");
    assert!(
        listing(&store.store_dir()).iter().any(|(_, kept)| *kept == bytes),
        "the segment is in the backup"
    );
    let mut replica = store.open().unwrap();
    assert_eq!(replica.position(), position + 1, "positions continue");
    let applied = replica.apply(&note("bd-1"), &caller()).unwrap();
    assert!(
        applied.delta.beads.values().next().unwrap().stamps().max().unwrap() > last,
        "and so does the clock"
    );
}

#[test]
fn a_later_format_is_not_damage() {
    let store = Store::new();
    store.create(&["bd-1"]);
    store.checkpoint();
    let mut snapshot = store.snapshot();
    snapshot.meta = br#"{"format_version":99}"#.to_vec();
    store.force(&snapshot);
    let error = examine(&store.store_dir(), &store.repository(), RealWorld).unwrap_err();
    assert_eq!(error.code(), beads_core::Code::NewerFormat);
}

/// A power loss truncates files that were not synced. libgit2 never returns from such an object.
#[test]
fn a_truncated_object_is_skipped() {
    for kind in ["state.jsonl", "tree", "commit"] {
        let store = Store::new();
        store.create(&["bd-a"]);
        store.checkpoint();
        store.create(&["bd-b"]);
        store.checkpoint();
        let git = git2::Repository::open_bare(store.git_dir()).unwrap();
        let tip = git.find_reference(REF).unwrap().peel_to_commit().unwrap();
        let tree = tip.tree().unwrap();
        let object = match kind {
            "commit" => tip.id(),
            "tree" => tree.id(),
            file => tree.get_name(file).unwrap().id(),
        }
        .to_string();
        let path = store.git_dir().join("objects").join(&object[..2]).join(&object[2..]);
        let bytes = fs::read(&path).unwrap();
        // libgit2 makes its files read-only, so replace it.
        fs::remove_file(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let plan = store.repair();
        assert!(
            plan.damage.iter().any(|damage| format!("{damage:?}").contains(&object)),
            "{:?}",
            plan.damage
        );
        // A bare repository has no reflog, but we record saved commits.
        assert_eq!(store.ids(), ["bd-a"], "{kind}");
        assert_eq!(plan.after.beads, 1, "{kind}");
    }
}

#[test]
fn a_repair_takes_everything_that_can_be_read_anywhere() {
    for source in ["our record", "a backup", "a tracking ref"] {
        let store = Store::new();
        store.create(&["bd-1", "bd-2"]);
        let good = store.checkpoint();
        let git = store.git();
        let keep = |name: &str| {
            git.reference(name, git2::Oid::from_str(&good).unwrap(), true, "test").unwrap();
        };
        match source {
            "a backup" => keep("refs/beads/backup/earlier"),
            "a tracking ref" => keep("refs/remotes/origin/beads/store"),
            _ => {}
        }
        // The ref now points at an unrelated commit without its tree.
        let empty = beads_core::State::default().encode();
        let broken = store.repository().write(&empty, &[], "broken").unwrap();
        let oid = git2::Oid::from_str(&broken).unwrap();
        let tree = git.find_commit(oid).unwrap().tree_id().to_string();
        git.reference(REF, oid, true, "test").unwrap();
        store.remove_object(&tree);
        if source != "our record" {
            fs::remove_file(store.store_dir().join("saved")).unwrap();
            git.find_reference("refs/beads/saved").unwrap().delete().unwrap();
        }
        let plan = store.repair();
        assert_eq!(store.ids(), ["bd-1", "bd-2"], "{source}");
        assert_eq!((plan.before.beads, plan.after.beads), (0, 2), "{source}");
    }
}

#[test]
fn a_deleted_ref_whose_commit_is_gone_falls_back_to_the_previous_save() {
    let store = Store::new();
    store.create(&["bd-1"]);
    store.checkpoint();
    store.create(&["bd-2"]);
    let last = store.checkpoint();
    store.create(&["bd-3"]);
    let git = store.git();
    for name in [REF, "refs/beads/saved", "refs/beads/saving"] {
        git.find_reference(name).unwrap().delete().unwrap();
    }
    store.remove_object(&last);
    let plan = store.repair();
    assert_eq!(store.ids(), ["bd-1", "bd-3"]);
    assert_eq!((plan.before.beads, plan.after.beads), (1, 2));
}

/// Git collected the objects of a commit that was being saved when the process was killed.
#[test]
fn an_unfinished_save_whose_objects_are_gone_is_rolled_back() {
    for saved_before in [true, false] {
        let store = Store::new();
        store.create(&["bd-1"]);
        if saved_before {
            store.checkpoint();
            store.create(&["bd-2"]);
        }
        let replica = store.open().unwrap();
        let (snapshot, repository) = (replica.catalog().state().encode(), store.repository());
        let tip = repository.tip().unwrap();
        let parents: Vec<_> = tip.iter().cloned().collect();
        let commit = repository.write(&snapshot, &parents, "beads").unwrap();
        assert!(repository.compare_and_swap_ref(tip.as_deref(), &commit).unwrap());
        drop(replica);
        assert!(!store.repository().roll_back_unfinished_save().unwrap(), "it can be read");
        let tree =
            store.git().find_commit(git2::Oid::from_str(&commit).unwrap()).unwrap().tree().unwrap().id();
        store.remove_object(&tree.to_string());
        assert_eq!(store.open().unwrap_err().code(), beads_core::Code::CorruptStore);
        assert!(store.repository().roll_back_unfinished_save().unwrap());
        let expected: &[&str] = if saved_before { &["bd-1", "bd-2"] } else { &["bd-1"] };
        assert_eq!(store.ids(), expected);
        store.checkpoint();
        assert_eq!(store.ids(), expected);
    }
}
