//! The snapshot that replaces the oldest deltas of a hub. It is written and read in parts, so that every call is
//! short however large the store is.

use sha2::{Digest, Sha256};

use super::{HubCopy, HubCursor};
use crate::{Error, Result};

use beads_core::limits::MAX_FILE_BYTES;

/// The maximum size of a snapshot: a full store, with some room for how it is encoded.
const MAX_SNAPSHOT_BYTES: u64 = 4 * MAX_FILE_BYTES as u64;

/// How often reading begins again because a newer snapshot was confirmed meanwhile.
const MAX_READS: usize = 3;

/// What a confirmed snapshot consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHead {
    /// The last delta in it.
    pub cursor: HubCursor,
    /// Identifies its parts.
    pub token: String,
    /// The number of parts.
    pub parts: u32,
    /// The size of all parts.
    pub bytes: u64,
    /// The [`snapshot_digest`].
    pub digest: String,
}

/// Whether a store should be compacted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compaction {
    /// The size of the deltas after the confirmed snapshot.
    pub delta_bytes: u64,
    /// The size of the confirmed snapshot; 0 if there is none.
    pub snapshot_bytes: u64,
    /// The size of the parts of the proposal, or of the next snapshot.
    pub part_bytes: u32,
    /// The number up to which a replica proposes a snapshot, and that replica.
    pub proposed: Option<(u64, String)>,
    /// Whether a replica is writing a snapshot now.
    pub writing: bool,
    /// Whether the hub keeps something that is no longer needed.
    pub leftover: bool,
}

/// What became of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldOutcome {
    /// It waits for a second replica.
    Proposed,
    /// Two replicas have folded the same.
    Confirmed,
    /// Two replicas have folded differently. Nothing was deleted.
    Differs,
    /// Parts are missing, or arrived damaged.
    Incomplete,
    /// Another replica was faster, or this one too slow.
    Stale,
}

impl FoldOutcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Proposed, Self::Confirmed, Self::Differs, Self::Incomplete, Self::Stale];

    /// Returns the name that the functions of the hub use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Confirmed => "confirmed",
            Self::Differs => "differs",
            Self::Incomplete => "incomplete",
            Self::Stale => "stale",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|outcome| outcome.name() == name);
        found.ok_or_else(|| invalid("the outcome of a fold is unknown"))
    }
}

/// The calls that write and read snapshots. Machines that are attached may make them, on any connection.
pub trait Snapshots {
    /// Returns what the confirmed snapshot consists of, if there is one.
    fn snapshot(&mut self) -> Result<Option<SnapshotHead>>;

    /// Returns a part of a confirmed snapshot; `None` if a newer one has replaced it.
    fn snapshot_part(&mut self, token: &str, part: u32) -> Result<Option<Vec<u8>>>;

    /// Returns whether the store should be compacted.
    fn compaction(&mut self) -> Result<Compaction>;

    /// Begins to write a snapshot and returns the token of its parts; `None` if another replica is doing that.
    fn begin_snapshot(&mut self, upto: &HubCursor, part_bytes: u32) -> Result<Option<String>>;

    /// Stores a part. Returns whether the attempt is still under way.
    fn put_part(&mut self, token: &str, part: u32, payload: &[u8]) -> Result<bool>;

    /// Proposes the snapshot whose parts were stored.
    fn propose(&mut self, token: &str, parts: u32, digest: &str) -> Result<FoldOutcome>;

    /// Confirms the snapshot that another replica proposed, if it has this digest.
    fn confirm(&mut self, upto: &HubCursor, digest: &str) -> Result<FoldOutcome>;

    /// Deletes some of what is no longer needed. Returns whether something may be left.
    fn trim(&mut self) -> Result<bool>;
}

/// Returns the digest of a snapshot: that of the digests of its parts. The hub computes it from the parts that it
/// has stored, one at a time.
pub fn snapshot_digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut whole = Sha256::new();
    for part in parts {
        whole.update(Sha256::digest(part));
    }
    whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the confirmed snapshot, which is untrusted, if there is one. Nothing of it is used before all parts have
/// arrived and have the digest that two replicas agreed on.
pub fn read_snapshot(hub: &mut impl Snapshots) -> Result<Option<HubCopy>> {
    for _ in 0..MAX_READS {
        let Some(head) = hub.snapshot()? else { return Ok(None) };
        if let Some(bytes) = read_parts(hub, &head)? {
            return HubCopy::from_snapshot(head.cursor, &bytes).map(Some);
        }
    }
    // Attach again: by then there may be an even newer one.
    Err(Error::HubHistory)
}

fn read_parts(hub: &mut impl Snapshots, head: &SnapshotHead) -> Result<Option<Vec<u8>>> {
    if head.bytes > MAX_SNAPSHOT_BYTES {
        return Err(invalid(&format!("the snapshot has {} bytes", head.bytes)));
    }
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for part in 0..head.parts {
        let Some(payload) = hub.snapshot_part(&head.token, part)? else { return Ok(None) };
        if (bytes.len() + payload.len()) as u64 > head.bytes {
            return Err(invalid("the parts of the snapshot are longer than announced"));
        }
        bytes.extend(payload);
        ends.push(bytes.len());
    }
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let parts = begins.zip(&ends).map(|(begin, end)| &bytes[begin..*end]);
    if snapshot_digest(parts) != head.digest {
        return Err(invalid("the parts of the snapshot do not have its digest"));
    }
    Ok(Some(bytes))
}

fn invalid(reason: &str) -> Error {
    Error::HubInvalid(reason.to_owned())
}
