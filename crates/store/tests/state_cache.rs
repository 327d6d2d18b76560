//! The cache of the saved state: it never changes what a store contains, whatever happens to its bytes.

use std::fs;
use std::path::PathBuf;

use beads_core::op::{Delete, DepAdd};
use beads_core::{EdgeKind, Encoder, Op, Snapshot, State};
use beads_store::{Repository, open_state_cache, seal_state_cache};
use proptest::prelude::*;

use crate::bench_store::{BenchStore, caller, create};

const COMMIT: &str = "1111111111111111111111111111111111111111";

fn saved_store() -> (BenchStore, Snapshot) {
    let store = BenchStore::new();
    let mut replica = store.open();
    let mut ids = Vec::new();
    for number in 0..20 {
        let bead = replica.apply(&create(&format!("number {number}")), &caller()).unwrap().bead.unwrap();
        ids.push(replica.catalog().id_of(&bead).to_string());
    }
    let dep = DepAdd { from: ids[0].clone(), to: ids[1].clone(), kind: EdgeKind::Blocks };
    replica.apply(&Op::DepAdd(dep), &caller()).unwrap();
    replica.apply(&Op::Delete(Delete { id: ids[2].clone(), ..Delete::default() }), &caller()).unwrap();
    // Objects are older than the cache only if the clock of the file system has moved on in between.
    let checkpoint = replica.begin_checkpoint().unwrap();
    let saved = checkpoint.save(&store.repository()).unwrap();
    replica.finish_checkpoint(saved, Vec::new()).unwrap();
    let files = replica.catalog().state().encode();
    (store, files)
}

fn cache_file(store: &BenchStore) -> PathBuf {
    store.repository().common_dir().join("beads/state.cache")
}

/// Moves the time of the cache, so that all objects are older.
fn age_objects(store: &BenchStore) {
    let file = fs::File::options().write(true).open(cache_file(store)).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
}

fn sealed(files: &Snapshot) -> (State, Vec<u8>) {
    let state = files.decode().unwrap().state;
    let mut encoder = Encoder::default();
    let encoded = encoder.encode(&state, None);
    encoder.give_back(encoded);
    (state, seal_state_cache(COMMIT, &encoder.cache().unwrap()))
}

#[test]
fn every_flipped_byte_and_every_cut_is_detected() {
    let (_, files) = saved_store();
    let (state, bytes) = sealed(&files);
    assert!(open_state_cache(bytes.clone(), COMMIT).unwrap() == state);
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            assert!(open_state_cache(damaged, COMMIT).is_none(), "byte {at}");
        }
        assert!(open_state_cache(bytes[..at].to_vec(), COMMIT).is_none(), "cut at {at}");
    }
    assert!(open_state_cache([&bytes, b"x".as_slice()].concat(), COMMIT).is_none(), "a byte too many");
    let other = COMMIT.replace('1', "2");
    assert!(open_state_cache(bytes, &other).is_none(), "another commit");
}

#[test]
fn a_store_is_opened_from_its_cache_only_while_the_cache_is_that_of_the_ref() {
    let (store, files) = saved_store();
    let repository = store.repository();
    let tip = repository.tip().unwrap().unwrap();
    age_objects(&store);
    assert!(repository.cached_state(&tip).unwrap().encode() == files);

    // An object that another program wrote again is decoded.
    let blob = git2::Oid::hash_object(git2::ObjectType::Blob, &files.state).unwrap().to_string();
    let object = repository.common_dir().join("objects").join(&blob[..2]).join(&blob[2..]);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::set_permissions(&object, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::File::options().write(true).open(&object).unwrap().set_modified(later).unwrap();
    assert!(repository.cached_state(&tip).is_none(), "an object is newer than the cache");
    fs::remove_file(&object).unwrap();
    assert!(repository.cached_state(&tip).is_none(), "an object is missing");
    assert!(store.try_open().is_err(), "the ref cannot be read");
}

#[test]
fn the_next_save_replaces_the_cache() {
    let (store, _) = saved_store();
    let old = fs::read(cache_file(&store)).unwrap();
    let mut replica = store.open();
    replica.apply(&create("one more"), &caller()).unwrap();
    replica.checkpoint(&store.repository()).unwrap();
    age_objects(&store);
    let repository = store.repository();
    let tip = repository.tip().unwrap().unwrap();
    assert!(repository.cached_state(&tip).unwrap() == *replica.catalog().state());
    // A cache of an earlier commit is not used.
    fs::write(cache_file(&store), old).unwrap();
    assert!(repository.cached_state(&tip).is_none());
    assert!(store.open().catalog().state() == replica.catalog().state());
    fs::remove_file(cache_file(&store)).unwrap();
    assert!(store.open().catalog().state() == replica.catalog().state());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Several bytes are overwritten, or a part is replaced by zeros, as after a power loss.
    #[test]
    fn a_damaged_cache_never_changes_what_is_read(
        writes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        zeros in proptest::option::of((any::<prop::sample::Index>(), 1..5_000_usize)),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let (store, files) = saved_store();
        let mut bytes = fs::read(cache_file(&store)).unwrap();
        for (at, byte) in writes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some((at, length)) = zeros {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes[at..end].fill(0);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(cache_file(&store), bytes).unwrap();
        age_objects(&store);
        prop_assert!(store.open().catalog().state().encode() == files);
    }
}
