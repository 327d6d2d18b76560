//! The files of one commit on the sync ref, as bytes.

pub const STATE: &str = "state.jsonl";
pub const TOMBSTONES: &str = "tombstones.jsonl";
pub const DEPS: &str = "deps.jsonl";
pub const META: &str = "meta.json";
/// Only there when it is not empty.
pub const CONFLICTS: &str = "conflicts.jsonl";

use sha2::{Digest, Sha256};

use crate::canonical::hex;
use crate::line::MetaFile;

/// The highest format this program reads and writes (docs/adr/0012-format-version-2.md).
pub const FORMAT_VERSION: u64 = 2;

/// The format of a store that uses nothing that came later.
pub const FIRST_FORMAT_VERSION: u64 = 1;

/// The files that describe one state, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub state: Vec<u8>,
    pub tombstones: Vec<u8>,
    pub deps: Vec<u8>,
    pub meta: Vec<u8>,
    pub conflicts: Vec<u8>,
}

impl Snapshot {
    /// The files with their names, in the order of a git tree.
    pub fn files(&self) -> Vec<(&'static str, &[u8])> {
        let conflicts = (!self.conflicts.is_empty()).then_some((CONFLICTS, self.conflicts.as_slice()));
        let always: [(&'static str, &[u8]); 4] =
            [(DEPS, &self.deps), (META, &self.meta), (STATE, &self.state), (TOMBSTONES, &self.tombstones)];
        conflicts.into_iter().chain(always).collect()
    }

    /// The files that `meta.json` has checksums of.
    pub(crate) fn summed_files(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        self.files().into_iter().filter(|(name, _)| *name != META)
    }

    /// Whether `meta` has a checksum of a file, so that decoding tells whether the file is what it was.
    pub fn is_summed(meta: &[u8], name: &str) -> bool {
        serde_json::from_slice(meta).is_ok_and(|meta: MetaFile| meta.sha256.contains_key(name))
    }

    /// Names the first file that is longer than `file_bytes`, or has a line longer than `line_bytes`.
    pub fn beyond(&self, line_bytes: usize, file_bytes: usize) -> Option<String> {
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

    /// A fingerprint that two replicas can compare: equal state, equal fingerprint.
    pub fn fingerprint(&self) -> String {
        // The other files are in it through their checksums.
        hex(&Sha256::digest(&self.meta))
    }
}
