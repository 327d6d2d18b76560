//! The files of one commit on the sync ref, as bytes.

/// The file of live beads.
pub const STATE: &str = "state.jsonl";
/// The file of deleted beads.
pub const TOMBSTONES: &str = "tombstones.jsonl";
/// The file of dependencies.
pub const DEPS: &str = "deps.jsonl";
/// The file with the format version, the settings and the checksums of the other files.
pub const META: &str = "meta.json";
/// The file of conflicts. It exists only if there are any.
pub const CONFLICTS: &str = "conflicts.jsonl";

use sha2::{Digest, Sha256};

use crate::canonical::hex;
use crate::line::MetaFile;

/// The highest format version that this program reads and writes (docs/adr/0012-format-version-2.md,
/// docs/adr/0083-archive.md).
pub const FORMAT_VERSION: u64 = 3;

/// The first format version with archived beads (docs/adr/0083-archive.md). Only archiving a bead raises a store
/// to it.
pub const ARCHIVE_FORMAT_VERSION: u64 = 3;

/// The highest format version of a store without archived beads. `bd migrate` raises a store to it.
pub const FORMAT_VERSION_WITHOUT_ARCHIVE: u64 = 2;

/// The format version of a store that uses none of the newer features.
pub const FIRST_FORMAT_VERSION: u64 = 1;

/// The encoded files of one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The content of [`STATE`].
    pub state: Vec<u8>,
    /// The content of [`TOMBSTONES`].
    pub tombstones: Vec<u8>,
    /// The content of [`DEPS`].
    pub deps: Vec<u8>,
    /// The content of [`META`].
    pub meta: Vec<u8>,
    /// The content of [`CONFLICTS`]; empty if there is no such file.
    pub conflicts: Vec<u8>,
}

impl Snapshot {
    /// Returns files without content.
    pub(crate) fn empty() -> Self {
        let [state, tombstones, deps, meta, conflicts] = [const { Vec::new() }; 5];
        Self { state, tombstones, deps, meta, conflicts }
    }

    /// Returns the names and contents of the files, in the order of a git tree.
    pub fn files(&self) -> Vec<(&'static str, &[u8])> {
        let conflicts = (!self.conflicts.is_empty()).then_some((CONFLICTS, self.conflicts.as_slice()));
        let always: [(&'static str, &[u8]); 4] =
            [(DEPS, &self.deps), (META, &self.meta), (STATE, &self.state), (TOMBSTONES, &self.tombstones)];
        conflicts.into_iter().chain(always).collect()
    }

    /// Returns the files whose checksums are in `meta.json`: all but `meta.json` itself.
    pub(crate) fn checksummed_files(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        self.files().into_iter().filter(|(name, _)| *name != META)
    }

    /// Returns whether `meta` has a checksum for a file, so that decoding detects damage to it.
    pub fn has_checksum(meta: &[u8], name: &str) -> bool {
        serde_json::from_slice(meta).is_ok_and(|meta: MetaFile| meta.sha256.contains_key(name))
    }

    /// Returns a message about the first file that is longer than `file_bytes` or has a line longer than
    /// `line_bytes`.
    pub fn find_oversized(&self, line_bytes: usize, file_bytes: usize) -> Option<String> {
        self.files().into_iter().find_map(|(name, bytes)| {
            if bytes.len() > file_bytes {
                return Some(format!("{name} has {} bytes, more than {file_bytes}", bytes.len()));
            }
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', bytes) {
                if end - start > line_bytes {
                    return Some(format!(
                        "a line of {name} has {} bytes, more than {line_bytes}",
                        end - start
                    ));
                }
                start = end + 1;
            }
            None
        })
    }

    /// Returns a fingerprint of the state. Replicas with the same state have the same fingerprint.
    pub fn fingerprint(&self) -> String {
        // `meta` covers the other files through their checksums.
        hex(&Sha256::digest(&self.meta))
    }
}
