//! The answers, and their JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use beads_core::query::{Finding, Group, LabelCount, Summary, TreeRow};
use beads_core::{
    Actor, BeadId, BeadType, BeadView, Catalog, EdgeKey, EdgeKind, Labels, Note, Prefix, Priority, Slot,
    Stamp, Status, Text, Timestamp, Title,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DaemonStatus;
use super::done::{ClosedAndClaimed, ConfirmedAnswer, Done};
use super::events::EventsAnswer;
use super::graph_answer::GraphAnswer;
use super::memory::MemoryAnswer;
use super::past::{BlameAnswer, DifferenceAnswer, LogAnswer, UndoAnswer};
use super::planning::{ExplainAnswer, PlanAnswer};
use super::sessions::{HeartbeatAnswer, SessionAnswer, SilentClaim};
use super::upkeep::{OrphansAnswer, StoreSchema, UninstallAnswer};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::request::ExportFormat;
use crate::session_id::SessionId;

/// What a service answers. Serialises to what `--json` prints.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    One(Box<Done>),
    Many(Vec<Done>),
    /// `close --claim-next`.
    ClosedAndClaimed(ClosedAndClaimed),
    Confirmed(ConfirmedAnswer),
    /// A claim that has to be confirmed first.
    Unconfirmed(serde_json::Value),
    ClaimOver(ClaimOverAnswer),
    /// Revisions by id.
    Revisions(BTreeMap<String, u64>),
    Batch(BatchAnswer),
    Each(Vec<EachAnswer>),
    Details(Vec<Detail>),
    Beads(Vec<BeadView>),
    Linked(Vec<LinkedBead>),
    Notes(Vec<NoteAnswer>),
    Memories(Vec<MemoryAnswer>),
    Labels(Vec<LabelCount>),
    LabelsOf(Labels),
    Tree(Vec<TreeNode>),
    Cycles(Vec<CycleAnswer>),
    Log(LogAnswer),
    Blame(Vec<BlameAnswer>),
    Diff(Vec<DifferenceAnswer>),
    Undone(UndoAnswer),
    Explained(Box<ExplainAnswer>),
    Planned(Box<PlanAnswer>),
    Graph(Box<GraphAnswer>),
    Epics(Vec<EpicAnswer>),
    Count(CountAnswer),
    CountBy(CountByAnswer),
    Status(Box<StatusAnswer>),
    Events(EventsAnswer),
    Findings(Vec<Finding>),
    Repair(RepairAnswer),
    Orphans(OrphansAnswer),
    Daemon(DaemonStatus),
    Imported(Box<ImportAnswer>),
    Rescued(RescuedAnswer),
    Compared(Box<beads_core::import::Comparison>),
    Exported(ExportAnswer),
    Initialised(InitAnswer),
    Synced(SyncAnswer),
    Verified(VerifyAnswer),
    Conflicts(Vec<ConflictAnswer>),
    Conflict(Box<ConflictAnswer>),
    Setting(SettingAnswer),
    Settings(BTreeMap<String, String>),
    Uninstalled(UninstallAnswer),
    Heartbeat(HeartbeatAnswer),
    Sessions(Vec<SessionAnswer>),
}

impl Answer {
    /// The ids of the beads that were changed by what this answers.
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

/// What became of one of several operations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EachAnswer {
    Done(Box<Done>),
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

/// A bead for `show`. The compat dialect shows its neighbours as whole beads; nobody else looks for them.
#[derive(Debug)]
pub struct Detail {
    pub bead: BeadView,
    pub dependencies: Vec<LinkedBead>,
    pub dependents: Vec<LinkedBead>,
    /// Of an epic with children.
    pub progress: Option<Progress>,
    /// Of a claimed bead: whether the remote vouches for the claim.
    pub confirmed: Option<bool>,
}

/// How far an epic is, in the names of the Go `bd`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Progress {
    #[serde(rename = "epic_total_children")]
    pub total: usize,
    #[serde(rename = "epic_closed_children")]
    pub closed: usize,
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
    /// Of a claimed bead: whether a ref on the remote vouches that nobody else holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
}

impl Serialize for Detail {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let confirmed = self.confirmed;
        DetailOf { bead: &self.bead, progress: self.progress.as_ref(), confirmed }.serialize(serializer)
    }
}

/// An all-or-nothing batch: what each operation did, and the ids behind the names.
#[derive(Debug, Serialize)]
pub struct BatchAnswer {
    pub ids: BTreeMap<String, BeadId>,
    pub results: Vec<Done>,
}

/// Contract 1's answer to `dep add` and `dep remove`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EdgeAnswer {
    pub status: &'static str,
    pub issue_id: BeadId,
    pub depends_on_id: BeadId,
    #[serde(rename = "type")]
    pub dependency_type: &'static str,
    pub kind: EdgeKind,
}

impl EdgeAnswer {
    /// Edges to ids that no bead holds are not shown.
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

/// What an import did.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct ImportAnswer {
    pub summary: beads_core::import::Summary,
    /// One for each line, if they were asked for. They travel beside the answer.
    #[serde(skip)]
    pub decisions: Option<Vec<beads_core::import::Decision>>,
}

/// All beads in a format for other programs: here, or in a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportAnswer {
    pub format: ExportFormat,
    pub beads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A neighbour in the graph, whole.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkedBead {
    #[serde(flatten)]
    pub bead: BeadView,
    pub dependency_type: &'static str,
    pub kind: EdgeKind,
}

/// A note with the bead it belongs to. `text` and `created_at` are what clients of the Go `bd` read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteAnswer {
    pub id: String,
    pub issue_id: BeadId,
    pub author: Actor,
    pub content: Text,
    pub text: Text,
    pub at: Stamp,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

impl NoteAnswer {
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
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
    pub priority: Priority,
    pub issue_type: BeadType,
    pub depth: usize,
    pub dependency_type: Option<&'static str>,
    #[serde(skip)]
    pub last: bool,
    pub truncated: bool,
}

impl TreeNode {
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

#[derive(Debug, Serialize, JsonSchema)]
pub struct CycleAnswer {
    pub kind: EdgeKind,
    pub ids: Vec<BeadId>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EpicAnswer {
    pub epic: BeadView,
    pub total_children: usize,
    pub closed_children: usize,
    pub eligible_for_close: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusAnswer {
    pub summary: Summary,
    pub prefix: String,
    /// The version of the store's files.
    pub format_version: u64,
    #[serde(rename = "ref")]
    pub reference: &'static str,
    pub commit: Option<String>,
    /// Mutations that are durable in the journal but not yet on the ref.
    pub unsaved: u64,
    pub oldest_unsaved_ms: Option<u64>,
    pub position: u64,
    /// Where `bd watch --since` goes on from here.
    pub cursor: String,
    pub git_dir: PathBuf,
    /// Actors whose clocks run ahead of the one here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_skew: Vec<beads_core::query::ClockSkew>,
    /// Journal records that were passed over, because garbage collection had dropped their beads everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_records: Vec<String>,
    /// Keys under which something is remembered. Memories count nowhere else.
    pub memories: usize,
    /// Beads in progress without a claim: neither ready nor reclaimed. `bd update ID --status open` frees one.
    pub stuck: Vec<BeadId>,
    /// Claims whose sessions were not heard from for a minute or more. `bd claim ID --take-over` takes one over.
    pub silent: Vec<SilentClaim>,
    pub sync: SyncStatus,
}

/// `watch --claim`: whether a claim is over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimOverAnswer {
    pub over: bool,
    pub fence: String,
    /// How it ended; null while it runs.
    pub claim_over: Option<crate::request::ClaimOver>,
}

/// How far this replica is with its remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SyncStatus {
    pub remote: Option<String>,
    /// The remote to which `bd sync` would publish the store: it has none, and nobody asked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_only: Option<String>,
    /// Mutations that the remote does not have yet.
    pub unsynced: u64,
    /// How long the oldest of them has been waiting.
    pub oldest_unsynced_ms: Option<u64>,
    pub last_success: Option<String>,
    pub last_error: Option<SyncErrorStatus>,
    pub conflicts: usize,
    /// Claims that lost against a claim on another machine.
    pub lost_claims: Vec<LostClaim>,
    /// How many pushes the remote gets; absent when there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_budget: Option<PushBudgetStatus>,
    /// Why the remote does not take claim refs; absent when it does or was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_refs_refused: Option<String>,
}

/// Pushes over all machines, and those of this one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PushBudgetStatus {
    /// Pushes a minute that all machines share.
    pub rate: u32,
    /// Machines that wrote within the last ten minutes.
    pub machines: usize,
    /// Pushes of this machine within the last minute.
    pub last_minute: usize,
    /// How long changes here still wait for the budget; absent when they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_ms: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LostClaim {
    pub id: BeadId,
    /// Who held it here, or on the machine that lost.
    pub holder: String,
    pub won_by: Actor,
    pub conflict: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SyncErrorStatus {
    pub code: beads_core::Code,
    pub message: String,
    pub since: String,
    pub age_ms: u64,
    pub attempts: u64,
}

/// What a sync did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyncAnswer {
    /// Absent when there is no remote: then the local ref was saved, and that is all.
    pub remote: Option<String>,
    pub commit: Option<String>,
    /// Their changes came here.
    pub pulled: bool,
    /// Our changes went there.
    pub pushed: bool,
    pub rounds: u32,
    pub conflicts: usize,
}

/// A fingerprint of the state; equal on two replicas that hold the same.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyAnswer {
    pub fingerprint: String,
    pub commit: Option<String>,
    pub beads: usize,
    pub deleted: usize,
    pub conflicts: usize,
}

/// A conflict, or an id that a bead lost to an older one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConflictAnswer {
    pub id: String,
    pub kind: &'static str,
    pub bead: BeadId,
    pub title: Option<Title>,
    pub field: Option<&'static str>,
    /// The value that lost, as plain JSON.
    pub value: serde_json::Value,
    /// The value that stands now.
    pub current: serde_json::Value,
    pub at: Stamp,
    pub by: Actor,
    pub won_at: Option<Stamp>,
    pub won_by: Option<Actor>,
    pub dismissed: bool,
    /// For a remapped id: what the bead was born as.
    pub born: Option<BeadId>,
}

/// What `repair` did, or would do.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RepairAnswer {
    /// What is wrong; nothing when the store is healthy.
    pub damage: Vec<String>,
    pub applied: bool,
    pub actions: Vec<String>,
    /// What could not be read. It stays in the backup.
    pub unreadable: Vec<UnreadableAnswer>,
    /// The reference that keeps the damaged commit.
    pub backup: Option<String>,
    /// What the branch and the journal still say by themselves.
    pub before: Option<BalanceAnswer>,
    /// What the store holds after the repair.
    pub after: Option<BalanceAnswer>,
}

/// How much a store holds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BalanceAnswer {
    pub beads: usize,
    pub deleted: usize,
    pub dependencies: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableAnswer {
    pub file: String,
    pub line: Option<usize>,
    pub reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CountAnswer {
    pub count: usize,
}

/// Groups may overlap, so the total is not their sum.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountByAnswer {
    pub total: usize,
    pub groups: Vec<Group>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InitAnswer {
    pub prefix: Prefix,
    pub git_dir: PathBuf,
    /// With `--compat`: what was set up for clients of the Go `bd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<CompatSetup>,
}

/// What clients of the Go `bd` find now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatSetup {
    pub json_dialect: Dialect,
    /// The file by which they recognise the workspace.
    pub metadata: PathBuf,
    /// The file that is kept up to date, relative to the main work tree; null when it is not.
    pub export_path: Option<&'static str>,
    /// Why nothing is exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_exported: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SettingAnswer {
    pub key: String,
    pub value: String,
}

/// What `where` prints. `database_path` is what clients of the Go `bd` call it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlaceAnswer {
    pub path: PathBuf,
    pub database_path: PathBuf,
    pub git_dir: PathBuf,
    pub private: bool,
    pub exists: bool,
    #[serde(rename = "ref")]
    pub reference: &'static str,
    pub socket: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InfoAnswer {
    pub database_path: PathBuf,
    pub git_dir: PathBuf,
    /// `daemon`, or `direct` when commands do the work themselves.
    pub mode: &'static str,
    pub daemon_connected: bool,
    pub socket_path: PathBuf,
    pub version: &'static str,
    pub issue_count: u64,
    /// Who acts here.
    pub actor: Actor,
    /// `user.name` of git's configuration: the person behind the actor.
    pub person: Option<String>,
    /// The run of the agent, if it is known.
    pub session: Option<SessionId>,
    /// Every setting and its value.
    pub config: BTreeMap<String, String>,
    /// With `--schema`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<StoreSchema>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionAnswer {
    pub version: &'static str,
    pub implementation: &'static str,
    /// Of the files on the ref.
    pub format_version: u64,
}

/// A text for people or agents to read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextAnswer {
    pub text: String,
}

/// What `import --rescued` did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RescuedAnswer {
    pub file: PathBuf,
    /// Beads that were not here.
    pub added: usize,
    /// Beads that were here in another state.
    pub changed: usize,
    /// Values that lost against concurrent writes and are kept as conflicts.
    pub conflicts: usize,
    pub dry_run: bool,
}
