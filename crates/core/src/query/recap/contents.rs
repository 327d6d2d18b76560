//! The parts of a recap.

use serde::Serialize;

use super::super::WaitsForPerson;
use super::super::lost_work::{DoneTwice, Undelivered};
use super::super::workers::{Worker, WorkerState};
use crate::{Actor, BeadId, ConflictId, Field, Title};

/// What happened in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recap {
    /// The beginning of the period.
    pub since: String,
    /// The end of the period.
    pub until: String,
    /// Whether the local event log covers the period. Otherwise claims that ended within it may be missing.
    pub complete: bool,
    /// Beads that were closed as done, oldest first.
    pub closed: Vec<ClosedWork>,
    /// Beads that were created and not yet deleted, oldest first.
    pub created: Vec<CreatedWork>,
    /// Beads that were cancelled, reopened or released without a result, oldest first.
    pub failed: Vec<FailedWork>,
    /// Claims that were released because their leases had ended.
    pub reclaimed: Vec<ReclaimedWork>,
    /// Writes that lost to concurrent ones.
    pub conflicts: Vec<LostWrite>,
    /// Who did how much, and who is dead, hung or quiet.
    pub actors: Vec<Worker>,
    /// What waits for a person, oldest first.
    pub waiting: Vec<WaitsForPerson>,
    /// Work that was done twice.
    pub done_twice: Vec<DoneTwice>,
    /// The bead that most blocked work waits for.
    pub keystone: Option<Keystone>,
    /// Cancellations and handovers that did not arrive.
    pub undelivered: Vec<Undelivered>,
    /// When the sync failed.
    pub sync_outages: Vec<SyncOutage>,
}

/// A bead that was closed as done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedWork {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that closed it.
    pub by: Actor,
    /// When it was closed.
    pub at: String,
    /// The time from claim to close; null if it was not claimed.
    pub took_ms: Option<u64>,
    /// The reason.
    pub reason: Option<String>,
    /// Evidence that it is done: `commit:SHA`, `url:URL` or `cmd:TEXT`.
    pub evidence: Vec<String>,
}

/// A bead that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreatedWork {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that created it.
    pub by: Actor,
    /// When it was created.
    pub at: String,
}

/// A bead that was cancelled, reopened or released without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedWork {
    /// `cancelled`, `reopened` or `released`.
    pub how: &'static str,
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that did it.
    pub by: Actor,
    /// `released`: the actor that held the bead.
    pub holder: Option<Actor>,
    /// When.
    pub at: String,
    /// The reason.
    pub text: Option<String>,
}

/// A claim that was released because its lease had ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReclaimedWork {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that held it.
    pub holder: Option<Actor>,
    /// The actor that reclaimed it.
    pub by: Option<Actor>,
    /// When.
    pub at: String,
}

/// A write that lost to a concurrent one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostWrite {
    /// The id of the conflict.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub conflict: ConflictId,
    /// The bead.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The field.
    pub field: Field,
    /// The actor whose write lost.
    pub by: Actor,
    /// The actor whose write won.
    pub won_by: Actor,
    /// When the losing write was made.
    pub at: String,
    /// Whether the conflict was dismissed or the value restored.
    pub dismissed: bool,
}

/// The bead that most blocked work waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Keystone {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// How many unfinished beads wait for it, directly or indirectly.
    pub waiting: usize,
    /// The actor that holds it.
    pub holder: Option<Actor>,
    /// Whether the holder still works.
    pub holder_state: Option<WorkerState>,
    /// When it was claimed.
    pub held_since: Option<String>,
}

/// A time in which a machine was cut off from the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncOutage {
    /// Whose changes arrived late from another machine; empty if it was this machine.
    pub actors: Vec<Actor>,
    /// When the sync of this machine failed first, or when the first late change was made.
    pub from: String,
    /// When the sync succeeded again, or when the changes arrived; null if it still fails.
    pub until: Option<String>,
    /// The reason of the first failure, if it was this machine.
    pub reason: Option<String>,
}
