//! The files of one commit on the sync ref, as bytes.

pub const STATE: &str = "state.jsonl";
pub const TOMBSTONES: &str = "tombstones.jsonl";
pub const DEPS: &str = "deps.jsonl";
pub const META: &str = "meta.json";

/// The highest format this program reads and the one it writes.
pub const FORMAT_VERSION: u64 = 1;

/// Four files that describe one state, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub state: Vec<u8>,
    pub tombstones: Vec<u8>,
    pub deps: Vec<u8>,
    pub meta: Vec<u8>,
}

impl Snapshot {
    /// The files with their names, in the order of a git tree.
    pub fn files(&self) -> [(&'static str, &[u8]); 4] {
        [(DEPS, &self.deps), (META, &self.meta), (STATE, &self.state), (TOMBSTONES, &self.tombstones)]
    }
}
