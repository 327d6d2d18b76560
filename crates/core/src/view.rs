//! Beads as the public schema shows them (§4.2). Built from a catalog, complete in themselves: whoever prints a view
//! needs nothing else.

use std::sync::Arc;

use serde::Serialize;

use crate::op::if_hash;
use crate::timestamp::{rfc3339, rfc3339_option};
use crate::{
    Actor, Bead, BeadId, BeadType, Catalog, EdgeKey, EdgeKind, Estimate, Labels, Line, Lineage, Metadata,
    Note, Priority, Stamp, Status, Text, Timestamp, Title, Word, content_hash,
};

/// One bead. Its log and its neighbours stand apart from its facts, because clients of the Go `bd` want them in
/// another form; the facts look the same to everybody.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Bead"))]
pub struct BeadView {
    #[serde(flatten)]
    pub facts: BeadFacts,
    pub notes: Vec<Arc<Note>>,
    pub dependencies: Vec<LinkView>,
    pub dependents: Vec<LinkView>,
}

impl std::ops::Deref for BeadView {
    type Target = BeadFacts;

    fn deref(&self) -> &BeadFacts {
        &self.facts
    }
}

/// What is known of one bead. `type`/`issue_type` and `closed_reason`/`close_reason` say the same twice, because two
/// contracts spell them differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeadFacts {
    pub id: BeadId,
    pub title: Title,
    pub description: Text,
    pub status: Status,
    /// Handed over to the assignee, who has not taken it up yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
    /// The word of another tracker that stands for the status, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    pub priority: Priority,
    #[serde(rename = "type")]
    pub kind: BeadType,
    pub issue_type: BeadType,
    /// The word of another tracker that stands for the type, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_word: Option<Word>,
    pub labels: Labels,
    pub assignee: Option<Actor>,
    pub assignee_at: Option<Stamp>,
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub assignee_expires: Option<Timestamp>,
    /// Since when the session behind the claim was not heard from, if it is silent. Local knowledge.
    #[serde(serialize_with = "rfc3339_option::serialize", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub silent_since: Option<Timestamp>,
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub created_at: Timestamp,
    pub created_by: Actor,
    pub created_on_branch: Nullable<Line>,
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub updated_at: Timestamp,
    pub updated_by: Actor,
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub closed_at: Option<Timestamp>,
    pub closed_by: Option<Actor>,
    pub closed_reason: Nullable<Text>,
    pub close_reason: Nullable<Text>,
    pub closed_on_branch: Nullable<Line>,
    pub external_ref: Nullable<Line>,
    pub source_repo: Nullable<Line>,
    pub design: Nullable<Text>,
    pub acceptance_criteria: Nullable<Text>,
    pub estimated_minutes: Option<Estimate>,
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub due_at: Option<Timestamp>,
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub defer_until: Option<Timestamp>,
    pub metadata: Metadata,
    pub parent: Option<BeadId>,
    pub content_hash: String,
    /// Of a bead with words: the hash and the words, for a guard that compares both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Vec<BeadId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_children: Option<usize>,
    /// Where the beads are now that were born with this id, too, and lost it to this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remapped: Vec<BeadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<DeletionView>,
}

/// A bead at the other end of an edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Link"))]
pub struct LinkView {
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
    pub priority: Priority,
    pub issue_type: BeadType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_word: Option<Word>,
    pub dependency_type: &'static str,
    pub kind: EdgeKind,
    /// When and by whom the edge was made.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub created_at: Timestamp,
    pub created_by: Actor,
    /// When the bead at the other end was changed last.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub updated_at: Timestamp,
}

/// Who deleted a bead, when and why (§4.4).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Deletion"))]
pub struct DeletionView {
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub deleted_at: Timestamp,
    pub deleted_by: Actor,
    pub reason: Nullable<Text>,
}

/// Text that is null when it is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nullable<T>(pub T);

macro_rules! nullable {
    ($($ty:ty),*) => {$(
        impl Nullable<$ty> {
            pub fn get(&self) -> Option<&str> {
                self.0.non_empty()
            }
        }

        impl Serialize for Nullable<$ty> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.get().serialize(serializer)
            }
        }
    )*};
}

nullable!(Text, Line);

impl Catalog {
    /// The whole public view of a bead, live or deleted.
    pub fn view(&self, lineage: &Lineage) -> Option<BeadView> {
        let bead = self.bead(lineage)?;
        let row = self.row(lineage)?;
        let hash = content_hash(&row.id, lineage, bead);
        Some(BeadView {
            facts: BeadFacts {
                parent: self.parent(lineage).map(|parent| self.id_of(parent).clone()),
                if_hash: if_hash(&hash, bead),
                content_hash: hash,
                ..row.facts
            },
            notes: bead.notes_in_order().into_iter().cloned().collect(),
            dependencies: self.dependencies(lineage),
            dependents: self.dependents(lineage),
        })
    }

    /// A view for one line of a list: without notes, neighbours and hash, which cost most and are not shown there.
    pub fn row(&self, lineage: &Lineage) -> Option<BeadView> {
        let bead = self.bead(lineage)?;
        let id = self.id_of(lineage);
        let status = &bead.status.value;
        let closing = (status.status == Status::Closed).then_some(&bead.status.mark);
        let updated = bead.updated();
        let facts = BeadFacts {
            id: id.clone(),
            title: bead.title.value.clone(),
            description: bead.description.value.clone(),
            status: bead.status(),
            state: status.word.clone(),
            offered: bead.is_offer(),
            priority: bead.priority.value,
            kind: bead.kind.value.kind,
            issue_type: bead.kind.value.kind,
            type_word: bead.kind.value.word.clone(),
            labels: bead.labels.value.clone(),
            assignee: bead.claim.assignee.clone(),
            assignee_at: bead.claim.fence(),
            assignee_expires: bead.claim.expires,
            silent_since: None,
            created_at: lineage.at().into(),
            created_by: lineage.by().clone(),
            created_on_branch: Nullable(bead.created_on_branch.clone()),
            updated_at: updated.at().into(),
            updated_by: updated.by().clone(),
            closed_at: closing.map(|mark| mark.at().into()),
            closed_by: closing.map(|mark| mark.by().clone()),
            closed_reason: Nullable(status.closed_reason.clone()),
            close_reason: Nullable(status.closed_reason.clone()),
            closed_on_branch: Nullable(status.closed_on_branch.clone()),
            external_ref: Nullable(bead.external_ref.value.clone()),
            source_repo: Nullable(bead.source_repo.value.clone()),
            design: Nullable(bead.design.value.clone()),
            acceptance_criteria: Nullable(bead.acceptance_criteria.value.clone()),
            estimated_minutes: bead.estimated_minutes.value,
            due_at: bead.due_at.value,
            defer_until: bead.defer_until.value,
            metadata: bead.metadata.value.clone(),
            parent: None,
            content_hash: String::new(),
            if_hash: None,
            blocked_by: None,
            open_children: None,
            remapped: self.remapped(self.id_of(lineage)),
            deleted: deletion_view(bead),
        };
        Some(BeadView { facts, notes: Vec::new(), dependencies: Vec::new(), dependents: Vec::new() })
    }

    /// Live beads at the far ends of a bead's edges: blockers first, then by kind, oldest first.
    pub fn dependencies(&self, lineage: &Lineage) -> Vec<LinkView> {
        EdgeKind::ALL
            .into_iter()
            .flat_map(|kind| self.targets(lineage, kind).map(move |to| (kind, to)))
            .filter_map(|(kind, to)| self.link(&EdgeKey::new(lineage, to, kind), to))
            .collect()
    }

    /// Live beads whose edges lead here.
    pub fn dependents(&self, lineage: &Lineage) -> Vec<LinkView> {
        EdgeKind::ALL
            .into_iter()
            .flat_map(|kind| self.sources(lineage, kind).map(move |from| (kind, from)))
            .filter_map(|(kind, from)| self.link(&EdgeKey::new(from, lineage, kind), from))
            .collect()
    }

    fn link(&self, key: &EdgeKey, end: &Lineage) -> Option<LinkView> {
        let edge = self.state().edge(key)?;
        let bead = self.live_bead(end)?;
        Some(LinkView {
            id: self.id_of(end).clone(),
            title: bead.title.value.clone(),
            status: bead.status(),
            priority: bead.priority.value,
            issue_type: bead.kind.value.kind,
            state: bead.status.value.word.clone(),
            type_word: bead.kind.value.word.clone(),
            dependency_type: key.kind.client_name(),
            kind: key.kind,
            created_at: edge.created.at().into(),
            created_by: edge.created.by().clone(),
            updated_at: bead.updated().at().into(),
        })
    }
}

fn deletion_view(bead: &Bead) -> Option<DeletionView> {
    bead.deletion.as_ref().map(|deletion| DeletionView {
        deleted_at: deletion.mark.at().into(),
        deleted_by: deletion.mark.by().clone(),
        reason: Nullable(deletion.reason.clone()),
    })
}
