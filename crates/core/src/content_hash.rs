//! `content_hash` (§8.5.1): a fingerprint of a bead's public content, the same on every replica. `docs/FORMAT.md` has
//! the rules and vectors that never change again.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::timestamp::{rfc3339, rfc3339_option};
use crate::{
    Actor, Bead, BeadId, BeadType, Labels, Lineage, Mark, NoteId, Priority, Stamp, Status, Text, Timestamp,
    Title,
};

/// The hash of what the public schema shows of a bead under the id it has now.
pub fn content_hash(id: &BeadId, lineage: &Lineage, bead: &Bead) -> String {
    hex(&Sha256::digest(to_canonical(&Content::of(id, lineage, bead))))
}

/// The hashed fields, in byte order of their names. All of them are always there, null where there is nothing.
#[derive(Serialize)]
struct Content<'a> {
    acceptance_criteria: Option<&'a str>,
    assignee: Option<&'a Actor>,
    #[serde(with = "rfc3339_option")]
    assignee_expires: Option<Timestamp>,
    #[serde(with = "rfc3339_option")]
    closed_at: Option<Timestamp>,
    closed_by: Option<&'a Actor>,
    closed_on_branch: Option<&'a str>,
    closed_reason: Option<&'a str>,
    #[serde(with = "rfc3339")]
    created_at: Timestamp,
    created_by: &'a Actor,
    created_on_branch: Option<&'a str>,
    description: &'a Text,
    design: Option<&'a str>,
    external_ref: Option<&'a str>,
    id: &'a BeadId,
    labels: &'a Labels,
    notes: Vec<NoteContent<'a>>,
    priority: Priority,
    source_repo: Option<&'a str>,
    status: Status,
    title: &'a Title,
    #[serde(rename = "type")]
    kind: BeadType,
}

/// Of a note only what §4.2.2 lists: its slot is a matter of one kind of client.
#[derive(Serialize)]
struct NoteContent<'a> {
    at: Stamp,
    author: &'a Actor,
    content: &'a Text,
    id: &'a NoteId,
}

impl<'a> Content<'a> {
    fn of(id: &'a BeadId, lineage: &'a Lineage, bead: &'a Bead) -> Self {
        let status = &bead.status.value;
        let closed = (status.status == Status::Closed).then_some(&bead.status.mark);
        // The map is keyed by id, so its order is the order of the hash.
        let notes = bead.notes.values().map(|note| NoteContent {
            at: note.at,
            author: &note.author,
            content: &note.content,
            id: &note.id,
        });
        Self {
            acceptance_criteria: bead.acceptance_criteria.value.non_empty(),
            assignee: bead.claim.assignee.as_ref(),
            assignee_expires: bead.claim.expires,
            closed_at: closed.map(|mark| mark.at().into()),
            closed_by: closed.map(Mark::by),
            closed_on_branch: status.closed_on_branch.non_empty(),
            closed_reason: status.closed_reason.non_empty(),
            created_at: lineage.at().into(),
            created_by: lineage.by(),
            created_on_branch: bead.created_on_branch.non_empty(),
            description: &bead.description.value,
            design: bead.design.value.non_empty(),
            external_ref: bead.external_ref.value.non_empty(),
            id,
            labels: &bead.labels.value,
            notes: notes.collect(),
            priority: bead.priority.value,
            source_repo: bead.source_repo.value.non_empty(),
            status: status.status,
            title: &bead.title.value,
            kind: bead.kind.value,
        }
    }
}
