//! The answers and their JSON form.

use std::collections::BTreeMap;
use std::path::PathBuf;

use beads_core::query::{Finding, Group, HeldBead, LabelCount, Summary, TreeRow, WaitsForPerson};
use beads_core::{
    Actor, BeadId, BeadType, BeadView, Catalog, EdgeKey, EdgeKind, Labels, Note, Prefix, Priority, Slot,
    Stamp, Status, Text, Timestamp, Title,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DaemonStatus;
use super::agents::{ActivityAnswer, AgentAnswer};
use super::done::{ClosedAndClaimed, ConfirmedAnswer, Done};
use super::events::EventsAnswer;
use super::graph_answer::GraphAnswer;
use super::memory::MemoryAnswer;
use super::past::{BlameAnswer, DifferenceAnswer, LogAnswer, UndoAnswer};
use super::planning::{ExplainAnswer, PlanAnswer};
use super::question::QuestionAnswer;
use super::recap::RecapAnswer;
use super::sessions::{HeartbeatAnswer, SessionAnswer, SilentClaim};
use super::upkeep::{OrphansAnswer, StoreSchema, UninstallAnswer};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::request::ExportFormat;
use crate::session_id::SessionId;

/// A service's answer. Serialises to the output of `--json`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// One mutation.
    One(Box<Done>),
    /// Several mutations.
    Many(Vec<Done>),
    /// `close --claim-next`.
    ClosedAndClaimed(ClosedAndClaimed),
    /// A claim that the remote confirmed.
    Confirmed(ConfirmedAnswer),
    /// A claim that still has to be confirmed.
    Unconfirmed(serde_json::Value),
    /// Whether a claim is over.
    ClaimOver(ClaimOverAnswer),
    /// Revisions by id.
    Revisions(BTreeMap<String, u64>),
    /// An all-or-nothing batch.
    Batch(BatchAnswer),
    /// Independent operations, each with its own result.
    Each(Vec<EachAnswer>),
    /// Beads with everything about them.
    Details(Vec<Detail>),
    /// A list of beads.
    Beads(Vec<BeadView>),
    /// A list without closed beads, on a terminal.
    Unfinished(UnfinishedAnswer),
    /// The neighbours of a bead in the dependency graph.
    Linked(Vec<LinkedBead>),
    /// The notes of a bead.
    Notes(Vec<NoteAnswer>),
    /// Memories.
    Memories(Vec<MemoryAnswer>),
    /// Open questions.
    Questions(Vec<QuestionAnswer>),
    /// All labels with their counts.
    Labels(Vec<LabelCount>),
    /// The labels of one bead.
    LabelsOf(Labels),
    /// A dependency tree.
    Tree(Vec<TreeNode>),
    /// Dependency cycles.
    Cycles(Vec<CycleAnswer>),
    /// The history of a bead.
    Log(LogAnswer),
    /// What happened in a period.
    Recap(Box<RecapAnswer>),
    /// The log of the store.
    Activity(ActivityAnswer),
    /// The actors of the store.
    Agents(Vec<AgentAnswer>),
    /// Who set each field of a bead.
    Blame(Vec<BlameAnswer>),
    /// The differences between two points in time.
    Diff(Vec<DifferenceAnswer>),
    /// An undone operation.
    Undone(UndoAnswer),
    /// Why beads are ready or not.
    Explained(Box<ExplainAnswer>),
    /// A plan.
    Planned(Box<PlanAnswer>),
    /// A dependency graph.
    Graph(Box<GraphAnswer>),
    /// The progress of epics.
    Epics(Vec<EpicAnswer>),
    /// A count.
    Count(CountAnswer),
    /// Counts by group.
    CountBy(CountByAnswer),
    /// The status of the store.
    Status(Box<StatusAnswer>),
    /// Events.
    Events(EventsAnswer),
    /// The findings of `validate`.
    Findings(Vec<Finding>),
    /// The result of `repair`.
    Repair(RepairAnswer),
    /// The result of `repair-deps`.
    Orphans(OrphansAnswer),
    /// The status of the daemon.
    Daemon(DaemonStatus),
    /// The result of an import.
    Imported(Box<ImportAnswer>),
    /// The result of `import --rescued`.
    Rescued(RescuedAnswer),
    /// A comparison of a file with the store.
    Compared(Box<beads_core::import::Comparison>),
    /// An export.
    Exported(ExportAnswer),
    /// The result of `init`.
    Initialised(InitAnswer),
    /// The result of a sync.
    Synced(SyncAnswer),
    /// A fingerprint of the state.
    Verified(VerifyAnswer),
    /// A list of conflicts.
    Conflicts(Vec<ConflictAnswer>),
    /// One conflict.
    Conflict(Box<ConflictAnswer>),
    /// One setting.
    Setting(SettingAnswer),
    /// All settings.
    Settings(BTreeMap<String, String>),
    /// The result of `uninstall`.
    Uninstalled(UninstallAnswer),
    /// The result of `heartbeat`.
    Heartbeat(HeartbeatAnswer),
    /// A list of sessions.
    Sessions(Vec<SessionAnswer>),
}

impl Answer {
    /// Returns the ids of the beads that this operation changed.
    pub fn changed(&self) -> Vec<String> {
        let done: Vec<&Done> = match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many.iter().collect(),
            Self::Batch(batch) => batch.results.iter().collect(),
            Self::ClosedAndClaimed(both) => both.closed.iter().chain(both.claimed.as_deref()).collect(),
            Self::Each(each) => each.iter().filter_map(EachAnswer::done).collect(),
            Self::Confirmed(ConfirmedAnswer { claimed, .. }) => {
                return claimed["id"].as_str().map(str::to_owned).into_iter().collect();
            }
            Self::Undone(undone) if !undone.dry_run => {
                return undone.beads.iter().map(|bead| bead.id.to_string()).collect();
            }
            _ => return Vec::new(),
        };
        done.into_iter().filter(|one| !one.dry_run).filter_map(Done::id).map(ToString::to_string).collect()
    }
}

/// The result of one of several operations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EachAnswer {
    /// The operation succeeded.
    Done(Box<Done>),
    /// The operation failed.
    Failed(Failure),
}

impl EachAnswer {
    fn done(&self) -> Option<&Done> {
        match self {
            Self::Done(done) => Some(done),
            Self::Failed(_) => None,
        }
    }
}

impl From<Result<Done, Failure>> for EachAnswer {
    fn from(result: Result<Done, Failure>) -> Self {
        match result {
            Ok(done) => Self::Done(Box::new(done)),
            Err(failure) => Self::Failed(failure),
        }
    }
}

/// A bead for `show`. Only the compat dialect shows its neighbours as whole beads.
#[derive(Debug)]
pub struct Detail {
    /// The bead.
    pub bead: BeadView,
    /// The beads it depends on. Empty in the spec dialect.
    pub dependencies: Vec<LinkedBead>,
    /// The beads that depend on it. Empty in the spec dialect.
    pub dependents: Vec<LinkedBead>,
    /// The progress of an epic with children.
    pub progress: Option<Progress>,
    /// For a claimed bead: whether the remote confirmed the claim.
    pub confirmed: Option<bool>,
    /// The undismissed conflicts of the bead. Only for a terminal.
    pub conflicts: Vec<ConflictAnswer>,
    /// When the session that holds the bead was last heard from. Only for a terminal.
    pub last_seen: Option<Timestamp>,
}

/// The progress of an epic, with the field names of the Go `bd`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Progress {
    /// The number of children.
    #[serde(rename = "epic_total_children")]
    pub total: usize,
    /// The number of closed children.
    #[serde(rename = "epic_closed_children")]
    pub closed: usize,
    /// Whether all children are closed.
    #[serde(rename = "epic_closeable")]
    pub closeable: bool,
}

/// One bead of `show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DetailOf<'a> {
    #[serde(flatten)]
    bead: &'a BeadView,
    #[serde(flatten)]
    progress: Option<&'a Progress>,
    /// For a claimed bead: whether a ref on the remote confirms the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
}

impl Serialize for Detail {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let confirmed = self.confirmed;
        DetailOf { bead: &self.bead, progress: self.progress.as_ref(), confirmed }.serialize(serializer)
    }
}

/// The answer to an all-or-nothing batch.
#[derive(Debug, Serialize)]
pub struct BatchAnswer {
    /// The ids behind the names used in the batch.
    pub ids: BTreeMap<String, BeadId>,
    /// The result of each operation.
    pub results: Vec<Done>,
}

/// The answer to `dep add` and `dep remove` (contract 1).
#[derive(Debug, Serialize, JsonSchema)]
pub struct EdgeAnswer {
    /// `added` or `removed`.
    pub status: &'static str,
    /// The bead that depends on the other one.
    pub issue_id: BeadId,
    /// The bead it depends on.
    pub depends_on_id: BeadId,
    /// The kind as clients of the Go `bd` name it.
    #[serde(rename = "type")]
    pub dependency_type: &'static str,
    /// The kind of the dependency.
    pub kind: EdgeKind,
}

impl EdgeAnswer {
    /// Returns an edge with the current ids of its ends, or `None` if an end is an id that no bead holds.
    pub fn of(catalog: &Catalog, key: &EdgeKey, status: &'static str) -> Option<Self> {
        let (from, to) = (key.from.lineage()?, key.to.lineage()?);
        Some(Self {
            status,
            issue_id: catalog.id_of(from).clone(),
            depends_on_id: catalog.id_of(to).clone(),
            dependency_type: key.kind.client_name(),
            kind: key.kind,
        })
    }
}

/// The result of an import.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct ImportAnswer {
    /// The counts and notices.
    pub summary: beads_core::import::Summary,
    /// One decision per line, on request. They are sent separately from the answer.
    #[serde(skip)]
    pub decisions: Option<Vec<beads_core::import::Decision>>,
}

/// All beads in a format for other programs, inline or in a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportAnswer {
    /// The format.
    pub format: ExportFormat,
    /// The number of beads.
    pub beads: usize,
    /// The file that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The export itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A list of unfinished beads, as rows or as a tree.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct UnfinishedAnswer {
    /// The list.
    pub listed: Box<Answer>,
    /// The number of closed beads that match the filter otherwise.
    #[serde(skip)]
    pub hidden: usize,
}

/// A bead at the other end of an edge, in full.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkedBead {
    /// The bead.
    #[serde(flatten)]
    pub bead: BeadView,
    /// The kind as clients of the Go `bd` name it.
    pub dependency_type: &'static str,
    /// The kind of the dependency.
    pub kind: EdgeKind,
}

/// A note with the bead it belongs to. Clients of the Go `bd` read `text` and `created_at`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteAnswer {
    /// The id of the note.
    pub id: String,
    /// The bead.
    pub issue_id: BeadId,
    /// The author.
    pub author: Actor,
    /// The text.
    pub content: Text,
    /// The text again, for clients of the Go `bd`.
    pub text: Text,
    /// The stamp of the note.
    pub at: Stamp,
    /// The time of the note.
    pub created_at: String,
    /// The slot of a note that was set as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

impl NoteAnswer {
    /// Returns the note of a bead as an answer.
    pub fn new(bead: &BeadId, note: &Note) -> Self {
        Self {
            id: note.id.to_string(),
            issue_id: bead.clone(),
            author: note.author.clone(),
            content: note.content.clone(),
            text: note.content.clone(),
            at: note.at,
            created_at: Timestamp::from(note.at).to_string(),
            slot: note.slot,
        }
    }
}

/// A row of `dep tree`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TreeNode {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
    /// The priority.
    pub priority: Priority,
    /// The type.
    pub issue_type: BeadType,
    /// The distance from the root.
    pub depth: usize,
    /// The kind of the edge to the parent row; null for the root.
    pub dependency_type: Option<&'static str>,
    /// Whether this is the last child of its parent.
    #[serde(skip)]
    pub last: bool,
    /// Whether rows below were left out, because of a cycle or a limit.
    pub truncated: bool,
}

impl TreeNode {
    /// Returns a row of the tree.
    pub fn new(view: &BeadView, row: &TreeRow) -> Self {
        Self {
            id: view.id.clone(),
            title: view.title.clone(),
            status: view.status,
            priority: view.priority,
            issue_type: view.kind,
            depth: row.depth,
            dependency_type: row.kind.map(EdgeKind::client_name),
            last: row.last,
            truncated: row.cut,
        }
    }
}

/// A dependency cycle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CycleAnswer {
    /// The kind of its edges.
    pub kind: EdgeKind,
    /// Its beads.
    pub ids: Vec<BeadId>,
}

/// The progress of an epic.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EpicAnswer {
    /// The epic.
    pub epic: BeadView,
    /// The number of children.
    pub total_children: usize,
    /// The number of closed children.
    pub closed_children: usize,
    /// Whether all children are closed.
    pub eligible_for_close: bool,
}

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

/// The result of a sync.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyncAnswer {
    /// The remote; absent when there is none, in which case only the local ref was saved.
    pub remote: Option<String>,
    /// The commit of the ref.
    pub commit: Option<String>,
    /// Whether changes came from the remote.
    pub pulled: bool,
    /// Whether changes went to the remote.
    pub pushed: bool,
    /// The number of rounds it took.
    pub rounds: u32,
    /// The number of new conflicts.
    pub conflicts: usize,
}

/// A fingerprint of the state. Replicas with the same state have the same fingerprint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyAnswer {
    /// The fingerprint.
    pub fingerprint: String,
    /// The commit of the ref.
    pub commit: Option<String>,
    /// The number of beads.
    pub beads: usize,
    /// The number of deleted beads.
    pub deleted: usize,
    /// The number of conflicts.
    pub conflicts: usize,
}

/// A conflict, or an id that a bead lost to an older one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConflictAnswer {
    /// The id of the conflict.
    pub id: String,
    /// The kind of conflict.
    pub kind: &'static str,
    /// The bead.
    pub bead: BeadId,
    /// The title of the bead.
    pub title: Option<Title>,
    /// The field that was written concurrently.
    pub field: Option<&'static str>,
    /// The value that lost, as plain JSON.
    pub value: serde_json::Value,
    /// The current value.
    pub current: serde_json::Value,
    /// The stamp of the value that lost.
    pub at: Stamp,
    /// The author of the value that lost.
    pub by: Actor,
    /// The stamp of the value that won.
    pub won_at: Option<Stamp>,
    /// The author of the value that won.
    pub won_by: Option<Actor>,
    /// Whether it was dismissed.
    pub dismissed: bool,
    /// For a remapped id: the id with which the bead was created.
    pub born: Option<BeadId>,
}

/// What `repair` did or would do.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RepairAnswer {
    /// The damage found; empty when the store is healthy.
    pub damage: Vec<String>,
    /// Whether the repair was applied.
    pub applied: bool,
    /// The actions done or planned.
    pub actions: Vec<String>,
    /// Data that could not be read. It is kept in the backup.
    pub unreadable: Vec<UnreadableAnswer>,
    /// The ref that keeps the damaged commit.
    pub backup: Option<String>,
    /// What the branch and the journal hold without the repair.
    pub before: Option<BalanceAnswer>,
    /// What the store holds after the repair.
    pub after: Option<BalanceAnswer>,
}

/// How much a store holds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BalanceAnswer {
    /// The number of beads.
    pub beads: usize,
    /// The number of deleted beads.
    pub deleted: usize,
    /// The number of dependencies.
    pub dependencies: usize,
}

/// A part of a file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableAnswer {
    /// The file.
    pub file: String,
    /// The line.
    pub line: Option<usize>,
    /// Why it could not be read.
    pub reason: String,
}

/// The output of `count`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountAnswer {
    /// The number of beads.
    pub count: usize,
}

/// Counts by group. Groups may overlap, so the total is not their sum.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountByAnswer {
    /// The number of beads.
    pub total: usize,
    /// The groups with their counts.
    pub groups: Vec<Group>,
}

/// The output of `init`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InitAnswer {
    /// The prefix of new ids.
    pub prefix: Prefix,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// With `--compat`: what was set up for clients of the Go `bd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<CompatSetup>,
}

/// What was set up for clients of the Go `bd`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatSetup {
    /// The dialect of `--json`.
    pub json_dialect: Dialect,
    /// The file by which they recognise the workspace.
    pub metadata: PathBuf,
    /// The file that is kept up to date, relative to the main work tree; null when there is none.
    pub export_path: Option<&'static str>,
    /// Why nothing is exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_exported: Option<String>,
}

/// A setting and its value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SettingAnswer {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// The output of `where`. Clients of the Go `bd` read `database_path`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlaceAnswer {
    /// The directory of the store.
    pub path: PathBuf,
    /// The same, for clients of the Go `bd`.
    pub database_path: PathBuf,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// Whether the store is private.
    pub private: bool,
    /// Whether the store exists.
    pub exists: bool,
    /// The branch that holds the store.
    #[serde(rename = "ref")]
    pub reference: &'static str,
    /// The daemon's socket.
    pub socket: PathBuf,
}

/// The output of `info`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InfoAnswer {
    /// The directory of the store.
    pub database_path: PathBuf,
    /// The git directory that holds the store.
    pub git_dir: PathBuf,
    /// `daemon`, or `direct` when commands open the store themselves.
    pub mode: &'static str,
    /// Whether a daemon answered.
    pub daemon_connected: bool,
    /// The daemon's socket.
    pub socket_path: PathBuf,
    /// The version of `bd`.
    pub version: &'static str,
    /// The number of beads.
    pub issue_count: u64,
    /// The actor of this command.
    pub actor: Actor,
    /// The person behind the actor: `user.name` of git's configuration.
    pub person: Option<String>,
    /// The agent's session, if it is known.
    pub session: Option<SessionId>,
    /// Every setting and its value.
    pub config: BTreeMap<String, String>,
    /// With `--schema`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<StoreSchema>,
}

/// The output of `version`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionAnswer {
    /// The version of `bd`.
    pub version: &'static str,
    /// The name of this implementation.
    pub implementation: &'static str,
    /// The version of the store's file format.
    pub format_version: u64,
}

/// A text for people or agents to read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextAnswer {
    /// The text.
    pub text: String,
}

/// The result of `import --rescued`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RescuedAnswer {
    /// The rescue file.
    pub file: PathBuf,
    /// Beads that did not exist here.
    pub added: usize,
    /// Beads that existed here in another state.
    pub changed: usize,
    /// Values that lost to concurrent writes. They are kept as conflicts.
    pub conflicts: usize,
    /// Whether nothing was changed.
    pub dry_run: bool,
}
