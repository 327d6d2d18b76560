use beads_core::EdgeKind;
use beads_core::op::Fence;
use beads_core::query::{CountBy, Direction, Filter, PlanFor, ReadyFilter};
use beads_store::Cursor;
use serde::{Deserialize, Serialize};

/// A question about the beads of a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    Show {
        ids: Vec<String>,
    },
    List(Filter),
    /// The same, as text each bead below its parent.
    Forest(Filter),
    /// The same, each bead in full.
    Details(Filter),
    Ready(ReadyFilter),
    Blocked(Filter),
    Deleted,
    /// Some deleted beads, by their ids.
    DeletedBeads {
        ids: Vec<String>,
    },
    Notes {
        id: String,
    },
    /// Memories: all, the one with this key, or those that mention every word.
    Memories {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
        /// Only the beginning of the first line of each.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        brief: bool,
    },
    Labels,
    LabelsOf {
        id: String,
    },
    DepList {
        id: String,
        direction: Direction,
        kind: Option<EdgeKind>,
    },
    DepTree {
        id: String,
        direction: Direction,
        depth: Option<usize>,
    },
    Explain(ReadyFilter),
    Plan(PlanFor),
    Graph {
        id: Option<String>,
        closed: bool,
        format: GraphFormat,
    },
    ShowAsOf {
        ids: Vec<String>,
        moment: Moment,
    },
    Log {
        id: String,
    },
    Blame {
        id: String,
    },
    Diff {
        from: Moment,
        to: Option<Moment>,
    },
    Cycles,
    Epics,
    Count {
        filter: Filter,
        by: Option<CountBy>,
    },
    Status,
    Events(EventsQuery),
    /// The revisions of beads, by id; see `Catalog::revisions`. Ids that mean nothing are left out.
    Revisions {
        ids: Vec<String>,
    },
    /// Whether a claim is over, and why; with a wait, answered when it is.
    ClaimOver {
        fence: Fence,
    },
}

/// Which events are asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsQuery {
    /// Those behind this cursor; when absent no events, only the newest cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Cursor>,
    /// Only about these beads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A state of the past: a commit of the sync ref by the beginning of its name, or a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    Revision(String),
    Time(beads_core::Timestamp),
}

/// What a graph is drawn as when it is not asked for as data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum GraphFormat {
    #[default]
    Text,
    Mermaid,
    Dot,
    Svg,
}
