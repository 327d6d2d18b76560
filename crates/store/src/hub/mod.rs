//! The hub: a shared place where many machines append their deltas and are granted claims.
//!
//! A hub numbers the deltas of a store. Every replica folds them in the order of their numbers, so
//! [`HubCopy`] holds the same state on every machine at the same [`HubCursor`]. What a replica has beyond its
//! copy is what it still has to append. [`Hub`] is the transport: PostgreSQL, or the simulator.

mod compaction;
mod copy;
mod outgoing;
mod payload;
pub mod postgres;
mod session;
mod snapshot;

use beads_core::{Actor, Lineage, Stamp, Timestamp};
use serde::{Deserialize, Serialize};

pub use compaction::{FOLD_MIN_BYTES, compact};
pub use copy::{HubCopy, TakenRows};
pub use outgoing::{ClaimNews, ClaimNewsState, Outgoing, is_hub_fence, lineage_key};
pub use payload::{MAX_PAYLOAD_BYTES, decode_payload, encode_payload};
pub use session::{HubSession, draw_uuid};
pub use snapshot::{Compaction, FoldOutcome, SnapshotHead, Snapshots, read_snapshot, snapshot_digest};

use crate::Result;

/// The version of the hub's tables and functions that this program needs.
pub const HUB_VERSION: i32 = 2;

/// The tag in the low 16 bits of the fences that a hub grants. No replica generates it.
pub const HUB_TAG: u16 = 47_806;

/// The maximum number of candidates of a claim.
pub const MAX_CANDIDATES: usize = 256;

/// A place in the history of a hub: the number of a delta and its random token. Commits are serial, so a
/// token that matches proves everything before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubCursor {
    /// The number of the last delta that was taken; 0 at the beginning.
    pub n: u64,
    /// Its token; empty at the beginning.
    pub token: String,
}

/// The identity of a machine at a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The id of the store.
    pub store: String,
    /// The id of this machine's replica, a UUID.
    pub replica: String,
}

/// How a cursor relates to the history of the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubHistory {
    /// The cursor is part of it.
    Same,
    /// The deltas after the cursor are no longer kept: start with the snapshot.
    Behind,
    /// The hub has another history, such as after a restore. Start again and append what it lacks.
    Other,
}

/// The answer to an attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The last number that this replica used.
    pub last_seq: u64,
    /// The number of the newest delta.
    pub head: u64,
    /// How the cursor relates to the history.
    pub history: HubHistory,
    /// Whether grants wait until this machine and others have [settled](Hub::settle).
    pub holding: bool,
    /// The clock of the hub, which judges leases.
    pub now_ms: u64,
}

/// A delta of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRow {
    /// Its number and token.
    pub cursor: HubCursor,
    /// The replica that appended it.
    pub replica: String,
    /// What it holds.
    pub content: RowContent,
}

/// The answer to a fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Deltas, oldest first.
    pub rows: Vec<HubRow>,
    /// Whether the answer was too long for one call. What others append meanwhile does not count: a machine
    /// that fetched until nothing is left would never do anything else while many write.
    pub more: bool,
}

/// The content of a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowContent {
    /// Changes, as [`encode_payload`] wrote them. Untrusted until decoded.
    Payload(Vec<u8>),
    /// A claim that the hub granted.
    Grant(Grant),
}

/// A granted claim, from which every replica builds the same delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The bead.
    pub lineage: Lineage,
    /// The holder.
    pub holder: Actor,
    /// The fence.
    pub fence: Stamp,
    /// The end of the lease, by the clock of the hub.
    pub until: Timestamp,
}

/// A request for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// A random id. A repetition has the same one; a copy of this machine does not know it.
    pub id: String,
    /// The holder.
    pub holder: Actor,
    /// The length of the lease.
    pub lease_ms: u64,
    /// Beads in the order of preference, each with the latest stamp that its claim has here.
    pub candidates: Vec<(Lineage, Stamp)>,
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// A candidate was granted, in the delta with this cursor.
    Granted(Box<Grant>, HubCursor),
    /// All candidates are held. For a single candidate, by whom and until when.
    Taken(Option<Actor>, Option<Timestamp>),
    /// A candidate has ended in a delta that the caller has not taken yet.
    Behind,
    /// The hub waits, at most this many milliseconds, for machines to attach again after a failover.
    Hold(u64),
}

/// The transport to a hub; [`Snapshots`] has the calls for compaction. After an error, call
/// [`attach`](Self::attach) again before anything else.
pub trait Hub {
    /// Attaches this machine, and repeats its live claims.
    fn attach(&mut self, member: &Member, cursor: &HubCursor, claims: &[ClaimNews]) -> Result<Attached>;

    /// Appends a payload under a number of this replica. A repetition under the same number returns the first
    /// answer.
    fn append(&mut self, seq: u64, seen: u64, payload: &[u8], claims: &[ClaimNews]) -> Result<HubCursor>;

    /// Tells a hub that holds grants that this machine has nothing left to append.
    fn settle(&mut self) -> Result<()>;

    /// Returns deltas after a cursor, oldest first; none if there are none.
    fn fetch_since(&mut self, cursor: &HubCursor) -> Result<Fetched>;

    /// Asks for one of several beads. A repetition under the same number returns the first answer.
    fn claim(&mut self, seq: u64, cursor: &HubCursor, request: &ClaimRequest) -> Result<ClaimAnswer>;
}
