use beads_core::op::Fence;
use beads_core::query::{CountBy, Direction, Filter, PlanRequest, ReadyFilter};
use beads_core::{Actor, EdgeKind, EventKind, Timestamp};
use beads_store::Cursor;
use serde::{Deserialize, Serialize};

/// A question about the beads of a store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// Beads in full, by id.
    Show {
        /// The ids, or unique prefixes of ids.
        ids: Vec<String>,
    },
    /// The beads that match a filter.
    List(Filter),
    /// The beads that match a filter. In text, each bead is shown below its parent.
    Forest(Filter),
    /// The beads that match a filter, in full.
    Details(Filter),
    /// The beads that can be worked on.
    Ready(ReadyFilter),
    /// The beads with open blockers.
    Blocked(Filter),
    /// Beads in brief: all of them, or those with these ids. Unknown ids are left out.
    Overview {
        /// The ids; all beads if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ids: Option<Vec<String>>,
        /// Leave out beads that were closed before this time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closed_since: Option<Timestamp>,
    },
    /// Which beads wait for which, without their texts.
    Links {
        /// Only this bead and its descendants, with everything they wait for and that waits for them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<String>,
        /// Include closed beads.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        closed: bool,
    },
    /// The archived beads that match a filter.
    Archived(Filter),
    /// All deleted beads.
    Deleted,
    /// Deleted beads, by id.
    DeletedBeads {
        /// The ids.
        ids: Vec<String>,
    },
    /// The notes of a bead.
    Notes {
        /// The id of the bead.
        id: String,
    },
    /// Memories: all of them, the one with this key, or those that contain every word.
    Memories {
        /// A key, or words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
        /// Only return the beginning of the first line of each.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        brief: bool,
    },
    /// The open questions, oldest first.
    Questions,
    /// All labels, with the number of beads that have each.
    Labels,
    /// The labels of a bead.
    LabelsOf {
        /// The id of the bead.
        id: String,
    },
    /// The direct dependencies or dependents of a bead.
    DepList {
        /// The id of the bead.
        id: String,
        /// Dependencies or dependents.
        direction: Direction,
        /// Only edges of this kind.
        kind: Option<EdgeKind>,
    },
    /// The dependencies or dependents of a bead as a tree.
    DepTree {
        /// The id of the bead.
        id: String,
        /// Dependencies or dependents.
        direction: Direction,
        /// The maximum depth of the tree.
        depth: Option<usize>,
    },
    /// Why each bead is ready or not.
    Explain(ReadyFilter),
    /// A schedule of the open work for several workers.
    Plan(PlanRequest),
    /// The dependency graph.
    Graph {
        /// Only what is connected to this bead.
        id: Option<String>,
        /// Include closed beads.
        closed: bool,
        /// The drawing format.
        format: GraphFormat,
    },
    /// Beads in full, as they were at some point in the past.
    ShowAsOf {
        /// The ids.
        ids: Vec<String>,
        /// The point in the past.
        moment: Moment,
    },
    /// The history of a bead.
    Log {
        /// The id of the bead.
        id: String,
    },
    /// Who last changed each field of a bead, and when.
    Blame {
        /// The id of the bead.
        id: String,
    },
    /// The differences between two states.
    Diff {
        /// The earlier state.
        from: Moment,
        /// The later state; the current one if absent.
        to: Option<Moment>,
    },
    /// Dependency cycles.
    Cycles,
    /// Epics with their progress.
    Epics,
    /// The number of beads that match a filter.
    Count {
        /// The filter.
        filter: Filter,
        /// Count per value of this field.
        by: Option<CountBy>,
    },
    /// The status of the store and of its last sync.
    Status,
    /// What happened in a period.
    Recap(RecapQuery),
    /// The log of the whole store, as far as it is known here.
    Activity(ActivityQuery),
    /// The actors that hold beads or were heard from since a time.
    Agents {
        /// The beginning of the period.
        since: Timestamp,
    },
    /// The notes of an actor, newest last.
    NotesBy {
        /// The actor.
        author: Actor,
        /// Only the notes of this bead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// What has changed since a cursor.
    Events(EventsQuery),
    /// The revisions of beads, by id; see `Catalog::revisions`. Unknown ids are left out.
    Revisions {
        /// The ids.
        ids: Vec<String>,
    },
    /// Whether a claim has ended, and why. With a wait, answered when it has.
    ClaimOver {
        /// The fence of the claim.
        fence: Fence,
    },
}

/// Which events to return.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsQuery {
    /// Return the events after this cursor. If absent, return no events, only the newest cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Cursor>,
    /// Only events of these beads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// The maximum number of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Which period to summarise, and in which form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecapQuery {
    /// The beginning of the period; it ends now.
    pub since: Timestamp,
    /// Answer in at most 400 tokens.
    #[serde(default)]
    pub brief: bool,
    /// The format of the text.
    #[serde(default)]
    pub format: RecapFormat,
}

/// The format of a recap for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum RecapFormat {
    /// Lines for a terminal.
    #[default]
    Text,
    /// Markdown, to paste.
    Md,
}

/// Which events of the log to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActivityQuery {
    /// Only events of this actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// Only events of this bead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bead: Option<String>,
    /// Only events of these kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<EventKind>,
    /// Only events since this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only the newest events, at most this many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A state in the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The state in a commit of the sync ref, given by a prefix of its hash.
    Revision(String),
    /// The state at a time.
    Time(Timestamp),
}

/// The format of a drawn graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum GraphFormat {
    /// Lines for a terminal.
    #[default]
    Text,
    /// A Mermaid diagram, which GitHub and GitLab draw.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
    /// A picture for a browser.
    Svg,
}
