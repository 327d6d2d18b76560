//! `content_hash` (§8.5.1): a hash of a bead's public content that is the same on every replica and in every
//! implementation.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::timestamp::{rfc3339, rfc3339_option};
use crate::{
    Actor, Bead, BeadId, BeadType, Labels, Lineage, Priority, Stamp, Status, Text, Timestamp, Title,
};

/// The hashed fields. All are always present, in byte order of their names.
#[derive(Serialize)]
struct Hashed<'a> {
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
    description: &'a str,
    design: Option<&'a str>,
    external_ref: Option<&'a str>,
    id: &'a BeadId,
    labels: &'a Labels,
    notes: Vec<HashedNote<'a>>,
    priority: Priority,
    source_repo: Option<&'a str>,
    status: Status,
    title: &'a Title,
    r#type: BeadType,
}

#[derive(Serialize)]
struct HashedNote<'a> {
    at: Stamp,
    author: &'a Actor,
    content: &'a Text,
    id: &'a str,
}

/// Returns the SHA-256 hash of a bead's public content in lower-case hexadecimal.
pub fn content_hash(id: &BeadId, lineage: &Lineage, bead: &Bead) -> String {
    let status = &bead.status.value;
    let closing = (status.status == Status::Closed).then_some(&bead.status.mark);
    let hashed = Hashed {
        acceptance_criteria: bead.acceptance_criteria.value.non_empty(),
        assignee: bead.claim.assignee.as_ref(),
        assignee_expires: bead.claim.expires,
        closed_at: closing.map(|mark| mark.at().into()),
        closed_by: closing.map(crate::Mark::by),
        closed_on_branch: status.closed_on_branch.non_empty(),
        closed_reason: status.closed_reason.non_empty(),
        created_at: lineage.at().into(),
        created_by: lineage.by(),
        created_on_branch: bead.created_on_branch.non_empty(),
        description: bead.description.value.as_str(),
        design: bead.design.value.non_empty(),
        external_ref: bead.external_ref.value.non_empty(),
        id,
        labels: &bead.labels.value,
        // The map is keyed by note id, which is the order that §8.5.1 requires.
        notes: bead
            .notes
            .values()
            .map(|note| HashedNote {
                at: note.at,
                author: &note.author,
                content: &note.content,
                id: &note.id,
            })
            .collect(),
        priority: bead.priority.value,
        source_repo: bead.source_repo.value.non_empty(),
        status: bead.status(),
        title: &bead.title.value,
        r#type: bead.kind.value.kind,
    };
    hex(&Sha256::digest(to_canonical(&hashed)))
}
