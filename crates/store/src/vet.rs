//! Checks the sizes of fetched objects before they are read. A few kilobytes can inflate to gigabytes, and
//! libgit2 inflates whole commits wherever it follows a history.

use std::collections::{BTreeSet, VecDeque};

use beads_core::limits::MAX_OBJECT_BYTES;
use git2::{ObjectType, Oid, Repository};

use crate::loose;

/// How many commits of the known history are collected at first; and after `SOON` unknown commits, `FAR`.
const NEAR: usize = 8;
const SOON: usize = 64;
const FAR: usize = 512;

/// Which objects of each commit are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only the commits.
    Commits,
    /// Their trees and files as well.
    Files,
}

/// Refuses a history with an object that is longer than anything this store writes, and returns which one.
/// Stops at the history of `known`. Skips objects that are missing in a shallow or partial clone.
pub(crate) fn vet(git: &Repository, tip: Oid, known: &[Oid], depth: Depth) -> Result<(), String> {
    let mut ours = ancestors(git, known, NEAR);
    let (mut open, mut seen, mut files) = (vec![tip], BTreeSet::new(), BTreeSet::new());
    while let Some(id) = open.pop() {
        if ours.contains(&id) || !seen.insert(id) {
            continue;
        }
        if seen.len() == SOON {
            ours = ancestors(git, known, FAR);
        }
        check(git, id, ObjectType::Commit)?;
        let Ok(commit) = git.find_commit(id) else { continue };
        if depth == Depth::Files {
            check_files(git, commit.tree_id(), &mut files)?;
        }
        open.extend(commit.parent_ids());
    }
    Ok(())
}

/// Checks a commit that holds a single record, which is far shorter than a file of the store.
pub(crate) fn check_record(git: &Repository, id: Oid) -> Result<(), String> {
    check(git, id, ObjectType::Commit)?;
    let Ok(commit) = git.find_commit(id) else { return Ok(()) };
    check(git, commit.tree_id(), ObjectType::Tree)?;
    let Ok(tree) = commit.tree() else { return Ok(()) };
    for entry in tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Blob)) {
        match length(git, entry.id(), ObjectType::Blob) {
            Some(length) if length > MAX_OBJECT_BYTES => {
                return Err(format!(
                    "object {} has {length} bytes, more than {MAX_OBJECT_BYTES}",
                    entry.id()
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_files(git: &Repository, tree: Oid, seen: &mut BTreeSet<Oid>) -> Result<(), String> {
    if !seen.insert(tree) {
        return Ok(());
    }
    check(git, tree, ObjectType::Tree)?;
    let Ok(tree) = git.find_tree(tree) else { return Ok(()) };
    for entry in tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Blob)) {
        if seen.insert(entry.id()) {
            check(git, entry.id(), ObjectType::Blob)?;
        }
    }
    Ok(())
}

/// Refuses an object that is too long. Also reads a loose commit or tree completely, within its limit:
/// libgit2 would never return from a truncated one.
fn check(git: &Repository, id: Oid, kind: ObjectType) -> Result<(), String> {
    let too_long = |reason| format!("object {id}: {reason}");
    if kind != ObjectType::Blob {
        loose::read(&git.commondir().join("objects"), id, kind)?;
    }
    length(git, id, kind).map_or(Ok(()), |length| loose::check_length(length, kind).map_err(too_long))
}

/// Returns how long an object is when inflated, from its header alone, or `None` if it is missing or damaged,
/// which its reader reports.
fn length(git: &Repository, id: Oid, kind: ObjectType) -> Option<usize> {
    match loose::length(&git.commondir().join("objects"), id, kind) {
        Ok(Some(length)) => Some(length),
        Ok(None) => git.odb().and_then(|odb| odb.read_header(id)).ok().map(|(length, _)| length),
        Err(_) => None,
    }
}

/// Returns some commits of a history, nearest first. They are already here, and were checked when they
/// arrived.
fn ancestors(git: &Repository, tips: &[Oid], most: usize) -> BTreeSet<Oid> {
    let mut found: BTreeSet<Oid> = tips.iter().copied().collect();
    let mut open: VecDeque<Oid> = tips.iter().copied().collect();
    while let Some(id) = open.pop_front() {
        if found.len() >= most || check(git, id, ObjectType::Commit).is_err() {
            break;
        }
        let Ok(commit) = git.find_commit(id) else { continue };
        open.extend(commit.parent_ids().filter(|parent| found.insert(*parent)));
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use std::io::Write;

    use beads_core::limits::MAX_FILE_BYTES;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    /// Adds a pack with one object that inflates to this many bytes, as a remote may send it.
    fn bomb(git: &Repository, kind: u8, start: &[u8], length: usize) {
        let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
        push_header(&mut pack, kind, length);
        let mut zlib = ZlibEncoder::new(pack, Compression::fast());
        zlib.write_all(start).unwrap();
        let zeros = vec![b'\n'; 1 << 20];
        let mut left = length - start.len();
        while left > 0 {
            let piece = left.min(zeros.len());
            zlib.write_all(&zeros[..piece]).unwrap();
            left -= piece;
        }
        receive(git, zlib.finish().unwrap()).unwrap();
    }

    /// Appends the header of an object in a pack.
    fn push_header(pack: &mut Vec<u8>, kind: u8, length: usize) {
        let (mut byte, mut rest) = (kind << 4 | (length & 15) as u8, length >> 4);
        while rest > 0 {
            pack.push(byte | 0x80);
            (byte, rest) = ((rest & 0x7f) as u8, rest >> 7);
        }
        pack.push(byte);
    }

    /// Indexes a pack, as libgit2 does with what a server sends.
    fn receive(git: &Repository, mut pack: Vec<u8>) -> Result<(), git2::Error> {
        assert!(pack.len() < 4 << 20, "it is small when transferred: {}", pack.len());
        let trailer = sha1_of(&pack);
        pack.extend(trailer);
        let odb = git.odb()?;
        let mut writer = odb.packwriter()?;
        writer.write_all(&pack).unwrap();
        writer.commit().map(|_| ())
    }

    /// Returns a pack with a blob of 64 KiB, and a delta that copies the blob `copies` times.
    fn repeating_delta(copies: usize) -> Vec<u8> {
        let base = vec![b'\n'; 0x1_0000];
        let deflate = |bytes: &[u8]| {
            let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
            zlib.write_all(bytes).unwrap();
            zlib.finish().unwrap()
        };
        let mut delta = Vec::new();
        for length in [base.len(), base.len() * copies] {
            let mut rest = length;
            while rest > 0x7f {
                delta.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            delta.push(rest as u8);
        }
        // An instruction without offset and length copies 64 KiB from the start.
        delta.resize(delta.len() + copies, 0x80);
        let mut pack = b"PACK\0\0\0\x02\0\0\0\x02".to_vec();
        push_header(&mut pack, 3, base.len());
        pack.extend(deflate(&base));
        push_header(&mut pack, 7, delta.len());
        pack.extend(Oid::hash_object(ObjectType::Blob, &base).unwrap().as_bytes());
        pack.extend(deflate(&delta));
        pack
    }

    /// Returns the SHA-1 of plain bytes, which ends a pack. libgit2 only hashes objects with their headers.
    fn sha1_of(bytes: &[u8]) -> Vec<u8> {
        let mut hash: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        let mut message = bytes.to_vec();
        message.push(0x80);
        message.resize(message.len().next_multiple_of(64), 0);
        if message.len() < bytes.len() + 9 {
            message.resize(message.len() + 64, 0);
        }
        let end = message.len() - 8;
        message[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
        for block in message.chunks_exact(64) {
            let mut words: Vec<u32> =
                block.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
            for index in 16..80 {
                let word = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16];
                words.push(word.rotate_left(1));
            }
            let [mut a, mut b, mut c, mut d, mut e] = hash;
            for (index, word) in words.iter().enumerate() {
                let (mixed, constant) = match index {
                    0..20 => (b & c | !b & d, 0x5a82_7999),
                    20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                    40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                    _ => (b ^ c ^ d, 0xca62_c1d6_u32),
                };
                let next = [e, mixed, constant, *word]
                    .iter()
                    .fold(a.rotate_left(5), |sum, one| sum.wrapping_add(*one));
                (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
            }
            for (sum, part) in hash.iter_mut().zip([a, b, c, d, e]) {
                *sum = sum.wrapping_add(part);
            }
        }
        hash.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn names(git: &Repository) -> Vec<Oid> {
        let mut names = Vec::new();
        git.odb()
            .unwrap()
            .foreach(|id| {
                names.push(*id);
                true
            })
            .unwrap();
        names
    }

    #[test]
    fn a_packed_bomb_is_refused_by_its_header() {
        let dir = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(dir.path()).unwrap();
        bomb(&git, 3, b"", MAX_FILE_BYTES + 1);
        let blob = names(&git)[0];
        let mut builder = git.treebuilder(None).unwrap();
        builder.insert("state.jsonl", blob, 0o100_644).unwrap();
        let tree = git.find_tree(builder.write().unwrap()).unwrap();
        let who = git2::Signature::now("a", "b").unwrap();
        let first = git.commit(None, &who, &who, "one", &tree, &[]).unwrap();
        let empty = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let parent = git.find_commit(first).unwrap();
        let tip = git.commit(None, &who, &who, "two", &empty, &[&parent]).unwrap();
        let error = vet(&git, tip, &[], Depth::Files).unwrap_err();
        assert!(error.contains(&blob.to_string()) && error.contains("536870913 bytes"), "{error}");
        vet(&git, tip, &[], Depth::Commits).unwrap();
        vet(&git, tip, &[first], Depth::Files).unwrap();
        assert!(check_record(&git, first).is_err());
        check_record(&git, tip).unwrap();
    }

    /// libgit2 allocates what a delta announces while it receives a pack, before `vet` can look.
    #[test]
    fn a_delta_that_announces_too_much_is_refused_while_it_is_received() {
        crate::libgit2::set_up();
        let dir = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(dir.path()).unwrap();
        receive(&git, repeating_delta(16)).unwrap();
        assert_eq!(names(&git).len(), 2, "a delta of a usual size is applied");
        let error = receive(&git, repeating_delta(MAX_FILE_BYTES / 0x1_0000 + 1)).unwrap_err();
        assert!(error.message().contains("overly large"), "{error}");
    }

    #[test]
    fn an_oversized_commit_is_refused_anywhere_in_a_history() {
        let dir = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(dir.path()).unwrap();
        let empty = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let start = format!("tree {}\nauthor a <b> 1 +0000\ncommitter a <b> 1 +0000\n\n", empty.id());
        bomb(&git, 1, start.as_bytes(), MAX_OBJECT_BYTES + 1);
        let long = names(&git).into_iter().find(|id| *id != empty.id()).unwrap();
        let body =
            format!("tree {}\nparent {long}\nauthor a <b> 1 +0000\ncommitter a <b> 1 +0000\n\nx", empty.id());
        let tip = git.odb().unwrap().write(ObjectType::Commit, body.as_bytes()).unwrap();
        for depth in [Depth::Commits, Depth::Files] {
            let error = vet(&git, tip, &[], depth).unwrap_err();
            assert!(error.contains(&long.to_string()) && error.contains("16777217 bytes"), "{error}");
        }
    }
}
