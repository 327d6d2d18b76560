//! Beads in the public schema (§4.2). A view contains everything that is needed to print it.

use std::sync::Arc;

use serde::Serialize;

use crate::op::if_hash;
use crate::timestamp::{rfc3339, rfc3339_option};
use crate::{
    Actor, Bead, BeadId, BeadType, Catalog, EdgeKey, EdgeKind, Estimate, Labels, Line, Lineage, Metadata,
    Note, Priority, Stamp, Status, Text, Timestamp, Title, Word, content_hash,
};

/// One bead with its notes and dependencies. The facts are separate, because clients of the Go `bd` expect
/// notes and dependencies in another form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Bead"))]
pub struct BeadView {
    /// The fields of the bead.
    #[serde(flatten)]
    pub facts: BeadFacts,
    /// The notes in reading order.
    pub notes: Vec<Arc<Note>>,
    /// The beads that this bead has edges to.
    pub dependencies: Vec<LinkView>,
    /// The beads that have edges to this bead.
    pub dependents: Vec<LinkView>,
}

impl std::ops::Deref for BeadView {
    type Target = BeadFacts;

    fn deref(&self) -> &BeadFacts {
        &self.facts
    }
}

/// The fields of one bead. `type` and `issue_type` are the same, and so are `closed_reason` and
/// `close_reason`, because two contracts spell them differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeadFacts {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The description.
    pub description: Text,
    /// The status.
    pub status: Status,
    /// Whether the bead was handed over to the assignee, who has not accepted it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
    /// The custom word for the status, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    /// The priority.
    pub priority: Priority,
    /// The type.
    #[serde(rename = "type")]
    pub kind: BeadType,
    /// The same as `type`.
    pub issue_type: BeadType,
    /// The custom word for the type, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_word: Option<Word>,
    /// The labels.
    pub labels: Labels,
    /// The assignee.
    pub assignee: Option<Actor>,
    /// The fence of the claim.
    pub assignee_at: Option<Stamp>,
    /// The end of the lease.
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub assignee_expires: Option<Timestamp>,
    /// Whether the lease has ended, so that the bead is offered again. `assignee_expires` tells when.
    #[serde(skip)]
    pub lease_ended: bool,
    /// When the session of the claim was last heard from, if it is silent. Only known on this machine.
    #[serde(serialize_with = "rfc3339_option::serialize", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub silent_since: Option<Timestamp>,
    /// When the bead was created.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub created_at: Timestamp,
    /// Who created the bead.
    pub created_by: Actor,
    /// The git branch on which the bead was created.
    pub created_on_branch: Nullable<Line>,
    /// When the bead was last changed.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub updated_at: Timestamp,
    /// Who last changed the bead.
    pub updated_by: Actor,
    /// When the bead was closed.
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub closed_at: Option<Timestamp>,
    /// Who closed the bead.
    pub closed_by: Option<Actor>,
    /// Why the bead was closed.
    pub closed_reason: Nullable<Text>,
    /// The same as `closed_reason`.
    pub close_reason: Nullable<Text>,
    /// The git branch on which the bead was closed.
    pub closed_on_branch: Nullable<Line>,
    /// A reference to another system.
    pub external_ref: Nullable<Line>,
    /// The repository that the bead came from.
    pub source_repo: Nullable<Line>,
    /// The design.
    pub design: Nullable<Text>,
    /// The acceptance criteria.
    pub acceptance_criteria: Nullable<Text>,
    /// The estimate in minutes.
    pub estimated_minutes: Option<Estimate>,
    /// When the bead is due.
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub due_at: Option<Timestamp>,
    /// The bead is not ready before this time.
    #[serde(serialize_with = "rfc3339_option::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
    pub defer_until: Option<Timestamp>,
    /// Additional data of other programs.
    pub metadata: Metadata,
    /// The parent.
    pub parent: Option<BeadId>,
    /// The hash of the public content.
    pub content_hash: String,
    /// The hash and the custom words, for a guard that compares both. Only for beads with custom words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_hash: Option<String>,
    /// The open blockers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Vec<BeadId>>,
    /// The number of open children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_children: Option<usize>,
    /// The current ids of beads that were created with this id too and lost it to this bead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remapped: Vec<BeadId>,
    /// The deletion, if the bead is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<DeletionView>,
    /// Whether the bead is archived; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// A bead at the other end of an edge.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Link"))]
pub struct LinkView {
    /// Its id.
    pub id: BeadId,
    /// Its title.
    pub title: Title,
    /// Its status.
    pub status: Status,
    /// Its priority.
    pub priority: Priority,
    /// Its type.
    pub issue_type: BeadType,
    /// The custom word for its status, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Word>,
    /// The custom word for its type, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_word: Option<Word>,
    /// The kind of the edge, as clients of the Go `bd` spell it.
    pub dependency_type: &'static str,
    /// The kind of the edge.
    pub kind: EdgeKind,
    /// When the edge was created.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub created_at: Timestamp,
    /// Who created the edge.
    pub created_by: Actor,
    /// When the bead at the other end was last changed.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub updated_at: Timestamp,
}

/// Who deleted a bead, when and why (§4.4).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Deletion"))]
pub struct DeletionView {
    /// When the bead was deleted.
    #[serde(serialize_with = "rfc3339::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Rfc3339"))]
    pub deleted_at: Timestamp,
    /// Who deleted the bead.
    pub deleted_by: Actor,
    /// Why the bead was deleted.
    pub reason: Nullable<Text>,
}

/// Text that is null in JSON if it is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nullable<T>(pub T);

macro_rules! nullable {
    ($($ty:ty),*) => {$(
        impl Nullable<$ty> {
            /// Returns the text unless it is empty.
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
    /// Returns the complete view of a bead, live or deleted.
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

    /// Returns a view for one row of a list. It has no notes, dependencies, parent and hash, which are
    /// expensive and not shown in lists.
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
            lease_ended: false,
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
            archived: bead.is_archived(),
        };
        Some(BeadView { facts, notes: Vec::new(), dependencies: Vec::new(), dependents: Vec::new() })
    }

    /// Returns the live and archived beads that a bead has edges to: blockers first, then by kind, oldest first.
    pub fn dependencies(&self, lineage: &Lineage) -> Vec<LinkView> {
        EdgeKind::ALL
            .into_iter()
            .flat_map(|kind| self.targets(lineage, kind).map(move |to| (kind, to)))
            .filter_map(|(kind, to)| self.link(&EdgeKey::new(lineage, to, kind), to))
            .collect()
    }

    /// Returns the live and archived beads that have edges to a bead.
    pub fn dependents(&self, lineage: &Lineage) -> Vec<LinkView> {
        EdgeKind::ALL
            .into_iter()
            .flat_map(|kind| self.sources(lineage, kind).map(move |from| (kind, from)))
            .filter_map(|(kind, from)| self.link(&EdgeKey::new(from, lineage, kind), from))
            .collect()
    }

    fn link(&self, key: &EdgeKey, end: &Lineage) -> Option<LinkView> {
        let edge = self.state().edge(key)?;
        if self.is_gone(end) {
            return None;
        }
        let bead = self.bead(end)?;
        // An archived bead counts as closed, and its marker has the mark of its last write.
        let archived = bead.deletion.as_ref().map(|deletion| deletion.mark.at());
        Some(LinkView {
            id: self.id_of(end).clone(),
            title: bead.title.value.clone(),
            status: if archived.is_some() { Status::Closed } else { bead.status() },
            priority: bead.priority.value,
            issue_type: bead.kind.value.kind,
            state: bead.status.value.word.clone(),
            type_word: bead.kind.value.word.clone(),
            dependency_type: key.kind.client_name(),
            kind: key.kind,
            created_at: edge.created.at().into(),
            created_by: edge.created.by().clone(),
            updated_at: archived.unwrap_or_else(|| bead.updated().at()).into(),
        })
    }
}

fn deletion_view(bead: &Bead) -> Option<DeletionView> {
    bead.deletion.as_ref().filter(|deletion| !deletion.archived).map(|deletion| DeletionView {
        deleted_at: deletion.mark.at().into(),
        deleted_by: deletion.mark.by().clone(),
        reason: Nullable(deletion.reason.clone()),
    })
}
