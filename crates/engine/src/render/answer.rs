//! The answers and their JSON form.

mod bead;
mod place;
mod repair;
mod status;
mod sync;
mod transfer;

pub use bead::{
    CountAnswer, CountByAnswer, CycleAnswer, Detail, DetailOf, EdgeAnswer, EpicAnswer, LinkedBead,
    NoteAnswer, Progress, TreeNode,
};
pub use place::{
    CompatSetup, InfoAnswer, InitAnswer, PlaceAnswer, SettingAnswer, TextAnswer, UpgradeAnswer, VersionAnswer,
};
pub use repair::{BalanceAnswer, RepairAnswer, UnreadableAnswer};
pub use status::{
    ClaimOverAnswer, HubErrorStatus, LostClaim, PushBudgetStatus, StatusAnswer, SyncErrorStatus, SyncStatus,
};
pub use sync::{ConflictAnswer, SyncAnswer, VerifyAnswer};
pub use transfer::{ExportAnswer, ImportAnswer, RescuedAnswer};

use std::collections::BTreeMap;

use beads_core::query::{BeadBrief, Finding, LabelCount, Links};
use beads_core::{BeadId, BeadView, Labels};
use serde::Serialize;

use super::agents::{ActivityAnswer, AgentAnswer};
use super::done::{ClosedAndClaimed, ConfirmedAnswer, Done};
use super::events::EventsAnswer;
use super::graph_answer::GraphAnswer;
use super::memory::MemoryAnswer;
use super::past::{BlameAnswer, DifferenceAnswer, LogAnswer, UndoAnswer};
use super::planning::{ExplainAnswer, PlanAnswer};
use super::question::QuestionAnswer;
use super::recap::RecapAnswer;
use super::sessions::{HeartbeatAnswer, SessionAnswer};
use super::settings::SettingDescription;
use super::upkeep::{ArchivedAnswer, OrphansAnswer, UninstallAnswer};
use super::{DaemonStatus, HubAnswer, HubStatusAnswer};
use crate::failure::Failure;

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
    /// A request that succeeded for some of its beads. `--json` shows only the failure, which has both.
    #[serde(skip)]
    Partly(Box<PartlyAnswer>),
    /// Beads with everything about them.
    Details(Vec<Detail>),
    /// A list of beads.
    Beads(Vec<BeadView>),
    /// A long list of beads, already rendered for `--json`.
    #[serde(skip)]
    RenderedBeads(String),
    /// Beads in brief.
    Overview(Vec<BeadBrief>),
    /// Which beads wait for which.
    Links(Links),
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
    /// The result of `archive`.
    Archived(ArchivedAnswer),
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
    /// What is known about the hub.
    HubStatus(Box<HubStatusAnswer>),
    /// What an administrator did with the hub.
    Hub(HubAnswer),
    /// A list of conflicts.
    Conflicts(Vec<ConflictAnswer>),
    /// One conflict.
    Conflict(Box<ConflictAnswer>),
    /// One setting.
    Setting(SettingAnswer),
    /// All settings.
    Settings(BTreeMap<String, String>),
    /// What settings do.
    SettingsDescribed(Vec<SettingDescription>),
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

    /// Returns the beads with everything about them, to add to them.
    pub fn details_mut(&mut self) -> &mut [Detail] {
        match self {
            Self::Details(details) => details,
            Self::Partly(partly) => partly.done.details_mut(),
            _ => &mut [],
        }
    }
}

/// What a request did and why it failed for the rest.
#[derive(Debug)]
pub struct PartlyAnswer {
    /// What succeeded.
    pub done: Answer,
    /// What failed.
    pub failure: Failure,
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

/// The answer to an all-or-nothing batch.
#[derive(Debug, Serialize)]
pub struct BatchAnswer {
    /// The ids behind the names used in the batch.
    pub ids: BTreeMap<String, BeadId>,
    /// The result of each operation.
    pub results: Vec<Done>,
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
