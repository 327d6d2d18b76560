//! The status of the store and of its synchronisation.

use std::path::PathBuf;

use beads_core::query::{HeldBead, Summary, WaitsForPerson};
use beads_core::{Actor, BeadId};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::question::QuestionAnswer;
use super::super::sessions::SilentClaim;

/// The output of `status`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusAnswer {
    /// Counts of beads.
    pub summary: Summary,
    /// The prefix of new ids.
    pub prefix: String,
    /// The version of the store's file format.
    pub format_version: u64,
    /// The branch that holds the store.
    #[serde(rename = "ref")]
    pub reference: &'static str,
    /// The commit of the branch.
    pub commit: Option<String>,
    /// Mutations that are durable in the journal but not yet on the ref.
    pub unsaved: u64,
    /// The age of the oldest unsaved mutation.
    pub oldest_unsaved_ms: Option<u64>,
    /// The position of the last mutation.
    pub position: u64,
    /// The cursor at which `bd watch --since` continues.
    pub cursor: String,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// Actors whose clocks are ahead of the local clock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_skew: Vec<beads_core::query::ClockSkew>,
    /// Journal records that were skipped because garbage collection had removed their beads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_records: Vec<String>,
    /// The number of keys with a memory. Other counts do not include memories.
    pub memories: usize,
    /// Questions that wait for an answer. `bd answer` answers one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionAnswer>,
    /// Beads in progress without a claim: neither ready nor reclaimed. `bd update ID --status open` frees
    /// one.
    pub stuck: Vec<BeadId>,
    /// Claims of sessions that have been silent for a minute or more. `bd claim ID --take-over` takes one
    /// over.
    pub silent: Vec<SilentClaim>,
    /// Who works on what since when, oldest claim first, with expired leases and open offers.
    pub working: Vec<HeldBead>,
    /// What waits for a person: questions, conflicts, stuck, blocked and assigned beads, finished epics.
    pub waiting: Vec<WaitsForPerson>,
    /// The state of synchronisation with the remote.
    pub sync: SyncStatus,
}

/// `watch --claim`: whether a claim is over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimOverAnswer {
    /// Whether the claim is over.
    pub over: bool,
    /// The fence of the claim.
    pub fence: String,
    /// How the claim ended; null while it is active.
    pub claim_over: Option<crate::request::ClaimOver>,
}

/// The state of synchronisation with the remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SyncStatus {
    /// The remote.
    pub remote: Option<String>,
    /// The remote to which `bd sync` would publish the store. Set while the remote has no store and
    /// publishing was never requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_only: Option<String>,
    /// Mutations that the remote does not have yet.
    pub unsynced: u64,
    /// The age of the oldest of them.
    pub oldest_unsynced_ms: Option<u64>,
    /// When the last sync succeeded.
    pub last_success: Option<String>,
    /// The error of the last sync, if it failed.
    pub last_error: Option<SyncErrorStatus>,
    /// The number of unresolved conflicts.
    pub conflicts: usize,
    /// Why the hub cannot be used now; absent if it can, or none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_error: Option<HubErrorStatus>,
    /// Claims that lost to a claim on another machine.
    pub lost_claims: Vec<LostClaim>,
    /// The push budget of the remote; absent when pushes are unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_budget: Option<PushBudgetStatus>,
    /// Why the remote rejects claim refs; absent when it accepts them or was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_refs_refused: Option<String>,
}

/// The push budget of all machines, and the share used by this one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PushBudgetStatus {
    /// Pushes per minute, shared by all machines.
    pub rate: u32,
    /// Machines that wrote within the last ten minutes.
    pub machines: usize,
    /// Pushes from this machine within the last minute.
    pub last_minute: usize,
    /// How long local changes still have to wait for the budget; absent when they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_ms: Option<u64>,
}

/// A claim that lost to a claim on another machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LostClaim {
    /// The bead.
    pub id: BeadId,
    /// The holder that lost, here or on another machine.
    pub holder: String,
    /// The actor whose claim won.
    pub won_by: Actor,
    /// The id of the conflict record.
    pub conflict: String,
}

/// Why the hub cannot be used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HubErrorStatus {
    /// The error code.
    pub code: beads_core::Code,
    /// The error message, with what to do.
    pub message: String,
    /// Since when.
    pub since: String,
    /// The time since then.
    pub age_ms: u64,
}

/// Why synchronisation fails.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SyncErrorStatus {
    /// The error code.
    pub code: beads_core::Code,
    /// The error message.
    pub message: String,
    /// When it first failed.
    pub since: String,
    /// The time since then.
    pub age_ms: u64,
    /// The number of failed attempts.
    pub attempts: u64,
}
