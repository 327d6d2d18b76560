//! Damages files on purpose.

use beads_core::Snapshot;
use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub fn file_mut<'a>(files: &'a mut Snapshot, name: &str) -> &'a mut Vec<u8> {
    match name {
        STATE => &mut files.state,
        TOMBSTONES => &mut files.tombstones,
        DEPS => &mut files.deps,
        META => &mut files.meta,
        CONFLICTS => &mut files.conflicts,
        _ => panic!("no file {name}"),
    }
}

/// Returns the files with correct checksums.
pub fn sealed(mut files: Snapshot) -> Snapshot {
    let mut meta: Value = serde_json::from_slice(&files.meta).unwrap();
    for (name, bytes) in files.files().into_iter().filter(|(name, _)| *name != META) {
        meta["sha256"][name] = beads_core::canonical::hex(&Sha256::digest(bytes)).into();
    }
    files.meta = format!("{meta}\n").into_bytes();
    files
}

/// Returns the files without checksums.
pub fn unsealed(mut files: Snapshot) -> Snapshot {
    let mut meta: Value = serde_json::from_slice(&files.meta).unwrap();
    meta.as_object_mut().unwrap().remove("sha256");
    files.meta = format!("{meta}\n").into_bytes();
    files
}

/// Replaces the first `from` in one line and updates the checksums, except in `meta.json`, which contains
/// them.
pub fn replaced(files: &Snapshot, file: &str, line: usize, from: &str, to: &str) -> Snapshot {
    let mut files = files.clone();
    let bytes = file_mut(&mut files, file);
    let text = String::from_utf8(std::mem::take(bytes)).unwrap();
    let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
    assert!(lines[line - 1].contains(from), "{file} line {line} has no {from}");
    lines[line - 1] = lines[line - 1].replacen(from, to, 1);
    *bytes = lines.concat().into_bytes();
    if file == META { files } else { sealed(files) }
}
