//! Opening a damaged store: the error names the place, nothing on disk changes, and once the damage is undone
//! the store opens as before.

use std::fs;
use std::path::{Path, PathBuf};

use beads_core::Snapshot;
use beads_core::op::{Delete, DepAdd};
use beads_core::snapshot::{DEPS, META, STATE, TOMBSTONES};
use beads_core::{EdgeKind, Op};
use beads_store::{REF, Repository};
use git2::{ObjectType, Oid, Signature};

use crate::bench_store::{BenchStore, caller, create};

const FILES: [&str; 4] = [STATE, TOMBSTONES, DEPS, META];
const REGULAR: i32 = 0o100_644;

/// A store whose four files all have content, with some more records in its journal.
struct Damaged {
    store: BenchStore,
    tip: Oid,
    whole: Snapshot,
}

impl Damaged {
    fn new() -> Self {
        let store = BenchStore::new();
        let mut replica = store.open();
        let mut ids = Vec::new();
        for title in ["one", "two", "three"] {
            let bead = replica.apply(&create(title), &caller()).unwrap().bead.unwrap();
            ids.push(replica.catalog().id_of(&bead).to_string());
        }
        let dep = DepAdd { from: ids[0].clone(), to: ids[1].clone(), kind: EdgeKind::Blocks };
        replica.apply(&Op::DepAdd(dep), &caller()).unwrap();
        replica.apply(&Op::Delete(Delete { id: ids[2].clone(), ..Delete::default() }), &caller()).unwrap();
        replica.checkpoint(&store.repository()).unwrap();
        for title in ["four", "five"] {
            replica.apply(&create(title), &caller()).unwrap();
            replica.commit().unwrap();
        }
        let whole = replica.catalog().state().encode();
        let tip = replica.known_tip().unwrap().parse().unwrap();
        Self { store, tip, whole }
    }

    /// Expects an error with all of `names` in its message, and that nothing on disk changed.
    fn expect_refused(&self, names: &[&str], what: &str) {
        let before = self.store.listing();
        let Err(error) = self.store.try_open() else { panic!("{what}: the store opens") };
        for name in names {
            assert!(error.to_string().contains(name), "{what}: {name:?} is not in {error}");
        }
        assert!(
            matches!(error.code(), beads_core::Code::CorruptStore | beads_core::Code::NewerFormat),
            "{what}: {}",
            error.code()
        );
        assert!(self.store.listing() == before, "{what}: something on disk changed");
    }

    fn expect_whole(&self, what: &str) {
        let replica = self.store.try_open().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(replica.catalog().state().encode() == self.whole, "{what}: the state differs");
    }

    fn content(&self, name: &str) -> Vec<u8> {
        let snapshot = self.store.repository().snapshot(&self.tip.to_string()).unwrap();
        let found = snapshot.files().into_iter().find(|(file, _)| *file == name);
        found.unwrap().1.to_vec()
    }

    fn blob(&self, name: &str) -> Oid {
        let git = self.store.git();
        let tree = git.find_commit(self.tip).unwrap().tree().unwrap();
        tree.get_name(name).unwrap().id()
    }

    fn tree(&self) -> Oid {
        self.store.git().find_commit(self.tip).unwrap().tree_id()
    }

    /// Points the ref at a commit whose tree has another entry under `name`, checks, and points it back.
    fn with_entry(&self, name: &str, entry: Option<(Oid, i32)>, check: impl FnOnce(&Self)) {
        let git = self.store.git();
        let commit = git.find_commit(self.tip).unwrap();
        let mut builder = git.treebuilder(Some(&commit.tree().unwrap())).unwrap();
        match entry {
            Some((id, mode)) => drop(builder.insert(name, id, mode).unwrap()),
            None => builder.remove(name).unwrap(),
        }
        let tree = git.find_tree(builder.write().unwrap()).unwrap();
        let who = Signature::now("beads", "beads@localhost").unwrap();
        let damaged = git.commit(None, &who, &who, "damaged", &tree, &[&commit]).unwrap();
        git.reference(REF, damaged, true, "damage").unwrap();
        check(self);
        git.reference(REF, self.tip, true, "undo").unwrap();
        self.expect_whole("the ref was put back");
    }

    fn with_content(&self, name: &str, content: &[u8], check: impl FnOnce(&Self)) {
        let blob = self.store.git().blob(content).unwrap();
        self.with_entry(name, Some((blob, REGULAR)), check);
    }

    /// Replaces a file below the store, checks, and puts it back.
    fn with_file(&self, path: &Path, content: Option<&[u8]>, check: impl FnOnce(&Self)) {
        let before = fs::read(path).unwrap();
        // Object files are read-only, so they are created again.
        fs::remove_file(path).unwrap();
        if let Some(content) = content {
            fs::write(path, content).unwrap();
        }
        check(self);
        let _ = fs::remove_file(path);
        fs::write(path, before).unwrap();
    }

    fn object_path(&self, id: Oid) -> PathBuf {
        let name = id.to_string();
        self.store.git_dir().join("objects").join(&name[..2]).join(&name[2..])
    }

    fn segment(&self) -> PathBuf {
        self.store.journal_dir().join("journal.000000000002")
    }
}

/// Returns offsets spread over a file. Each costs several syncs, so not all of them.
fn spots(length: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by((length / count).max(1))
}

#[test]
fn a_file_cut_short_anywhere_is_named() {
    let damaged = Damaged::new();
    for name in FILES {
        let content = damaged.content(name);
        for length in [0, 1, content.len() / 2, content.len() - 1] {
            damaged.with_content(name, &content[..length], |damaged| {
                damaged.expect_refused(&[name], &format!("{name} cut to {length} bytes"));
            });
        }
    }
}

#[test]
fn a_flipped_bit_in_a_file_is_named() {
    let damaged = Damaged::new();
    for name in FILES {
        let content = damaged.content(name);
        for offset in spots(content.len(), 20) {
            let mut flipped = content.clone();
            flipped[offset] ^= 1 << (offset % 7);
            // Only a version that became greater is reported differently; the rest is damage in a named file.
            damaged.with_content(name, &flipped, |damaged| {
                damaged.expect_refused(&[], &format!("{name} byte {offset}"));
            });
        }
        let mut flipped = content;
        let last = flipped.len() - 1;
        flipped[last] ^= 1;
        damaged.with_content(name, &flipped, |damaged| damaged.expect_refused(&[name], name));
    }
}

#[test]
fn a_newer_format_asks_for_an_upgrade() {
    let damaged = Damaged::new();
    let meta = String::from_utf8(damaged.content(META)).unwrap();
    let newer = meta.replace("\"format_version\":1", "\"format_version\":4");
    assert_ne!(newer, meta);
    damaged.with_content(META, newer.as_bytes(), |damaged| {
        damaged.expect_refused(&["format version 4", "upgrade bd"], "newer format");
    });
}

#[test]
fn a_missing_unknown_or_disguised_entry_is_named() {
    let damaged = Damaged::new();
    let blob = damaged.blob(STATE);
    for name in FILES {
        damaged.with_entry(name, None, |damaged| damaged.expect_refused(&[name, "missing"], "removed"));
        damaged.with_entry(name, Some((damaged.blob(name), 0o120_000)), |damaged| {
            damaged.expect_refused(&[name, "not a regular file"], "a symlink");
        });
        damaged.with_entry(name, Some((damaged.tip, 0o160_000)), |damaged| {
            damaged.expect_refused(&[name, "not a regular file"], "a submodule");
        });
        damaged.with_entry(name, Some((damaged.tree(), 0o040_000)), |damaged| {
            damaged.expect_refused(&[name, "not a regular file"], "a directory");
        });
        damaged.with_entry(name, Some((damaged.blob(name), 0o100_755)), |damaged| {
            damaged.expect_refused(&[name, "not a regular file"], "an executable");
        });
    }
    damaged.with_entry("surprise.txt", Some((blob, REGULAR)), |damaged| {
        damaged.expect_refused(&["surprise.txt", REF], "an extra file");
    });
}

#[test]
fn a_missing_object_is_named() {
    let damaged = Damaged::new();
    for name in FILES {
        let path = damaged.object_path(damaged.blob(name));
        damaged.with_file(&path, None, |damaged| damaged.expect_refused(&[name], "a missing blob"));
        damaged.expect_whole("the blob is back");
    }
    let commit = damaged.tip.to_string();
    for object in [damaged.tree(), damaged.tip] {
        let path = damaged.object_path(object);
        damaged.with_file(&path, None, |damaged| damaged.expect_refused(&[&commit, REF], "a missing object"));
        damaged.expect_whole("the object is back");
    }
}

/// A flip may hit a bit without meaning, such as one in the compression's checksum. Then the state must be
/// intact.
#[test]
fn a_flipped_bit_in_an_object_never_changes_the_state() {
    let damaged = Damaged::new();
    let mut objects: Vec<_> = FILES.iter().map(|name| damaged.blob(name)).collect();
    objects.extend([damaged.tree(), damaged.tip]);
    let mut refused = 0;
    for object in objects {
        let path = damaged.object_path(object);
        let content = fs::read(&path).unwrap();
        for offset in spots(content.len(), 100) {
            let mut flipped = content.clone();
            flipped[offset] ^= 1 << (offset % 8);
            damaged.with_file(&path, Some(&flipped), |damaged| {
                let what = format!("{} byte {offset}", path.display());
                match damaged.store.try_open() {
                    Ok(replica) => assert!(replica.catalog().state().encode() == damaged.whole, "{what}"),
                    Err(error) => {
                        assert!(error.to_string().contains(REF), "{what}: {error}");
                        refused += 1;
                    }
                }
            });
        }
        for length in [0, content.len() / 2] {
            damaged.with_file(&path, Some(&content[..length]), |damaged| {
                damaged.expect_refused(&[REF], &format!("{} cut to {length} bytes", path.display()));
            });
        }
        damaged.expect_whole("the object is back");
    }
    assert!(refused > 100, "only {refused} flips were noticed");
}

#[test]
fn garbage_in_the_ref_is_named() {
    let damaged = Damaged::new();
    let path = damaged.store.git_dir().join(REF);
    let absent = "0123456789".repeat(4) + "\n";
    for garbage in ["", "garbage\n", "\0\0\0\0", &damaged.tip.to_string()[..20], absent.as_str()] {
        damaged.with_file(&path, Some(garbage.as_bytes()), |damaged| {
            damaged.expect_refused(&[REF], &format!("a ref of {garbage:?}"));
        });
        damaged.expect_whole("the ref is back");
    }
    let git = damaged.store.git();
    let blob = git.odb().unwrap().write(ObjectType::Blob, b"not a commit").unwrap();
    damaged.with_file(&path, Some(format!("{blob}\n").as_bytes()), |damaged| {
        damaged.expect_refused(&[REF], "a ref to a blob");
    });
}

#[test]
fn a_damaged_journal_is_named() {
    let damaged = Damaged::new();
    let path = damaged.segment();
    let name = path.display().to_string();
    let content = fs::read(&path).unwrap();
    let mut flipped = content.clone();
    flipped[beads_store::frame::HEADER_BYTES + 2] ^= 4;
    damaged.with_file(&path, Some(&flipped), |damaged| {
        damaged.expect_refused(&[&name, "at byte 0"], "a flipped bit before good frames");
    });
    damaged.with_file(&path, Some(&content[..10]), |damaged| {
        damaged.expect_refused(&[&name, "at byte 0"], "a lone segment without its header");
    });
    damaged.expect_whole("the journal is back");
}
