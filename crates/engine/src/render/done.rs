//! What a mutation answers.

use beads_core::op::Warning;
use beads_core::{Actor, BeadId, BeadView, Code, NoteId, Priority, Stamp, Status, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{EdgeAnswer, NoteAnswer};
use super::brief::Brief;

/// One mutation that went through: the bead as it is now, or the edge.
#[derive(Debug)]
pub struct Done {
    pub verb: &'static str,
    /// The bead was chosen for the caller, who therefore has not read it yet.
    pub next: bool,
    pub bead: Option<BeadView>,
    pub edge: Option<EdgeAnswer>,
    /// What the caller wrote for the bead, when it is not its id.
    pub asked: Option<String>,
    /// There was nothing to do.
    pub unchanged: bool,
    /// The note that was appended.
    pub note: Option<NoteId>,
    pub renewed: bool,
    /// With a claim: whether the remote vouches for it.
    pub confirmed: Option<bool>,
    /// The fence of the claim that was made, which may be over by now if the request is a repetition.
    pub fence: Option<Stamp>,
    /// With a claim: what its holder needs to begin.
    pub brief: Option<Brief>,
    /// With a closing: what waited for this bead alone.
    pub unblocked: Vec<Unblocked>,
    /// With a creation: beads with nearly the same title.
    pub similar: Vec<Similar>,
    /// With a closing: what it went past.
    pub warnings: Vec<WarningAnswer>,
    pub dry_run: bool,
}

/// Something that the caller should know although the operation went through.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WarningAnswer {
    /// `claim_over`, `blocked`, `open_children` or `no_evidence`.
    pub code: &'static str,
    pub message: String,
    /// The beads that are still open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<BeadId>,
    /// Whose claim is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Actor>,
}

impl WarningAnswer {
    pub fn of(id: &BeadId, warning: &Warning) -> Self {
        let listed = |ids: &[BeadId]| ids.iter().map(BeadId::as_str).collect::<Vec<_>>().join(", ");
        match warning {
            Warning::ClaimOf(holder) => Self {
                code: "claim_over",
                message: format!("{id} was claimed by {holder}, whose claim is over now"),
                ids: Vec::new(),
                holder: Some(holder.clone()),
            },
            Warning::OpenBlockers(open) => Self {
                code: Code::Blocked.as_str(),
                message: format!("{id} was closed although it waits for {}", listed(open)),
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
                message: format!("{id} was closed although these children are open: {}", listed(open)),
                ids: open.clone(),
                holder: None,
            },
        }
    }
}

/// `close --claim-next`.
#[derive(Debug, Serialize)]
pub struct ClosedAndClaimed {
    pub closed: Vec<Done>,
    /// Null when nothing was ready.
    pub claimed: Option<Box<Done>>,
}

/// `claim --confirm`: the claim as it was answered, in the dialect in which it was asked for, and where it was pushed to.
#[derive(Debug, Serialize)]
pub struct ConfirmedAnswer {
    #[serde(flatten)]
    pub claimed: serde_json::Value,
    /// The remote, or null when there is none.
    #[serde(rename = "confirmed_by")]
    pub remote: serde_json::Value,
}

/// A bead that can be worked on because another one was closed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unblocked {
    pub id: BeadId,
    pub title: Title,
    pub priority: Priority,
}

/// A bead whose title is nearly that of a new one: perhaps they are the same work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Similar {
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
}

/// What is printed for a mutation, with beads in either dialect.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DoneOf<'a, B> {
    Edge(&'a EdgeAnswer),
    Note(NoteAnswer),
    Claimed(ClaimedOf<'a, B>),
    Closed(ClosedOf<'a, B>),
    Created(CreatedOf<'a, B>),
    Unchanged(UnchangedOf<B>),
    Bead(B),
    Nothing,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimedOf<'a, B> {
    #[serde(flatten)]
    bead: B,
    /// Proves the claim to later commands.
    fence: Option<String>,
    renewed: bool,
    /// Whether a ref on the remote vouches that nobody else holds the bead; false for a claim that is only known here.
    confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    brief: Option<&'a Brief>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ClosedOf<'a, B> {
    #[serde(flatten)]
    bead: B,
    /// What waited for this bead alone.
    unblocked: &'a [Unblocked],
    /// What the closing went past: a claim, open blockers, open children.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [WarningAnswer],
    /// It was closed before, and stays closed as it was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
}

/// A bead that is as it should be already.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnchangedOf<B> {
    #[serde(flatten)]
    bead: B,
    /// There was nothing to do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedOf<'a, B> {
    #[serde(flatten)]
    bead: B,
    /// Other beads with nearly the same title, a few at most.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    similar: &'a [Similar],
}

impl Done {
    /// The bead that was changed.
    pub fn id(&self) -> Option<&BeadId> {
        let edge = || self.edge.as_ref().map(|edge| &edge.issue_id);
        self.bead.as_ref().map(|bead| &bead.id).or_else(edge)
    }

    /// Notes whether the remote vouches for the claim.
    pub fn confirm(&mut self, confirmed: bool) {
        self.confirmed = Some(confirmed);
        if let Some(brief) = &mut self.brief {
            brief.confirmed = confirmed;
        }
    }

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
