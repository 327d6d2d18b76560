//! The answers to mutations.

use beads_core::op::Warning;
use beads_core::{Actor, BeadId, BeadView, Code, NoteId, Priority, Stamp, Status, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{EdgeAnswer, NoteAnswer};
use super::brief::Brief;

/// A successful mutation, with the current bead or the edge.
#[derive(Debug)]
pub struct Done {
    /// What was done, such as `closed`.
    pub verb: &'static str,
    /// Whether the service chose the bead, so that the caller has not seen it yet.
    pub next: bool,
    /// The bead as it is now.
    pub bead: Option<BeadView>,
    /// The dependency that was added or removed.
    pub edge: Option<EdgeAnswer>,
    /// The caller's name for the bead, if it differs from the id.
    pub asked: Option<String>,
    /// Whether the mutation changed nothing.
    pub unchanged: bool,
    /// The note that was appended.
    pub note: Option<NoteId>,
    /// Whether the claim was renewed instead of made.
    pub renewed: bool,
    /// For a claim: whether the remote confirmed it.
    pub confirmed: Option<bool>,
    /// The fence of the claim. The claim may be over already if the request is a retry.
    pub fence: Option<Stamp>,
    /// For a claim: the context its holder needs to begin.
    pub brief: Option<Brief>,
    /// For a close: the beads that waited only for this one.
    pub unblocked: Vec<Unblocked>,
    /// For a create: beads with nearly the same title.
    pub similar: Vec<Similar>,
    /// For a close: the obstacles it ignored.
    pub warnings: Vec<WarningAnswer>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// A warning about a mutation that succeeded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WarningAnswer {
    /// `claim_over`, `blocked`, `open_children` or `no_evidence`.
    pub code: &'static str,
    /// The warning as a sentence.
    pub message: String,
    /// The beads that are still open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<BeadId>,
    /// The holder of the claim that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Actor>,
}

impl WarningAnswer {
    /// Returns the answer for a warning about a bead.
    pub fn of(id: &BeadId, warning: &Warning) -> Self {
        let listed = |ids: &[BeadId]| ids.iter().map(BeadId::as_str).collect::<Vec<_>>().join(", ");
        match warning {
            Warning::ClaimOf(holder) => Self {
                code: "claim_over",
                message: format!("{id} was claimed by {holder}; that claim has ended"),
                ids: Vec::new(),
                holder: Some(holder.clone()),
            },
            Warning::OpenBlockers(open) => Self {
                code: Code::Blocked.as_str(),
                message: format!("{id} was closed although it is blocked by {}", listed(open)),
                ids: open.clone(),
                holder: None,
            },
            Warning::NoEvidence => Self {
                code: "no_evidence",
                message: format!(
                    "{id} was closed without evidence; give --evidence commit:SHA, url:URL or cmd:TEXT"
                ),
                ids: Vec::new(),
                holder: None,
            },
            Warning::OpenChildren(open) => Self {
                code: Code::OpenChildren.as_str(),
                message: format!("{id} was closed although it has open children: {}", listed(open)),
                ids: open.clone(),
                holder: None,
            },
        }
    }
}

/// The answer to `close --claim-next`.
#[derive(Debug, Serialize)]
pub struct ClosedAndClaimed {
    /// The closed beads.
    pub closed: Vec<Done>,
    /// Null when nothing was ready.
    pub claimed: Option<Box<Done>>,
}

/// The answer to `claim --confirm`: the claim in the dialect of the request, and the remote that has it.
#[derive(Debug, Serialize)]
pub struct ConfirmedAnswer {
    /// The claim.
    #[serde(flatten)]
    pub claimed: serde_json::Value,
    /// The remote, or null when there is none.
    #[serde(rename = "confirmed_by")]
    pub remote: serde_json::Value,
}

/// A bead that became ready because another one was closed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unblocked {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The priority.
    pub priority: Priority,
}

/// A bead whose title is nearly the same as the title of a new bead, so they may be duplicates.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Similar {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
}

/// The output of a mutation, with beads in either dialect.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DoneOf<'a, B> {
    /// A dependency.
    Edge(&'a EdgeAnswer),
    /// A note.
    Note(NoteAnswer),
    /// A claimed bead.
    Claimed(ClaimedOf<'a, B>),
    /// A closed bead.
    Closed(ClosedOf<'a, B>),
    /// A new bead.
    Created(CreatedOf<'a, B>),
    /// A bead that did not change.
    Unchanged(UnchangedOf<B>),
    /// A changed bead.
    Bead(B),
    /// Null.
    Nothing,
}

/// A claimed bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimedOf<'a, B> {
    #[serde(flatten)]
    bead: B,
    /// Proves the claim to later commands.
    fence: Option<String>,
    /// Whether the claim was renewed instead of made.
    renewed: bool,
    /// Whether a ref on the remote confirms the claim; false while it is only known here.
    confirmed: bool,
    /// The context its holder needs to begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<&'a Brief>,
}

/// A closed bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClosedOf<'a, B> {
    #[serde(flatten)]
    bead: B,
    /// The beads that waited only for this one.
    unblocked: &'a [Unblocked],
    /// The obstacles that the close ignored: a claim, open blockers, open children.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [WarningAnswer],
    /// Whether it was already closed; then nothing changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
}

/// A bead that already had the requested state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnchangedOf<B> {
    #[serde(flatten)]
    bead: B,
    /// Whether the mutation changed nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
}

/// A new bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedOf<'a, B> {
    #[serde(flatten)]
    bead: B,
    /// A few other beads with nearly the same title.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    similar: &'a [Similar],
}

impl Done {
    /// Returns the id of the changed bead.
    pub fn id(&self) -> Option<&BeadId> {
        let edge = || self.edge.as_ref().map(|edge| &edge.issue_id);
        self.bead.as_ref().map(|bead| &bead.id).or_else(edge)
    }

    /// Records whether the remote confirmed the claim.
    pub fn confirm(&mut self, confirmed: bool) {
        self.confirmed = Some(confirmed);
        if let Some(brief) = &mut self.brief {
            brief.confirmed = confirmed;
        }
    }

    /// Returns the output, with beads converted by `show`.
    pub fn shown<'a, B>(&'a self, show: impl Fn(&'a BeadView) -> B) -> DoneOf<'a, B> {
        let Some(bead) = &self.bead else {
            return self.edge.as_ref().map_or(DoneOf::Nothing, DoneOf::Edge);
        };
        match (&self.edge, self.verb) {
            (Some(edge), _) => DoneOf::Edge(edge),
            (None, "claimed" | "renewed") => DoneOf::Claimed(ClaimedOf {
                bead: show(bead),
                fence: self.fence.map(|stamp| stamp.to_string()),
                renewed: self.renewed,
                confirmed: self.confirmed.unwrap_or_default(),
                brief: self.brief.as_ref(),
            }),
            (None, "closed" | "cancelled") => DoneOf::Closed(ClosedOf {
                bead: show(bead),
                unblocked: &self.unblocked,
                warnings: &self.warnings,
                unchanged: self.unchanged,
            }),
            (None, _) if self.unchanged => {
                DoneOf::Unchanged(UnchangedOf { bead: show(bead), unchanged: true })
            }
            (None, "created") => DoneOf::Created(CreatedOf { bead: show(bead), similar: &self.similar }),
            (None, "noted") => match bead.notes.iter().find(|note| Some(&note.id) == self.note.as_ref()) {
                Some(note) => DoneOf::Note(NoteAnswer::new(&bead.id, note)),
                None => DoneOf::Bead(show(bead)),
            },
            (None, _) => DoneOf::Bead(show(bead)),
        }
    }
}

impl Serialize for Done {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown(|bead| bead).serialize(serializer)
    }
}
