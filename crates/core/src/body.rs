//! The JSON form of a bead. It is the same in `state.jsonl`, inside a tombstone and in the journal, which
//! only has the registers that a write touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::field::{
    BeadType, Estimate, Labels, Line, Metadata, Priority, Status, StatusGroup, Text, Title, TypeGroup, Value,
    Word,
};
use crate::{Actor, Bead, BeadId, Claim, Field, Mark, Note, Patch, Register, Stamp, Timestamp};

/// The fields in byte order of their names, which is the order of the encoding. Empty fields are omitted.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Body {
    #[serde(rename = "_at", skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
    #[serde(rename = "_by", skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    #[serde(rename = "_v", skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<FieldName, Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee_expires: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub born: Option<BeadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_on_branch: Option<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_reason: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Actor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_on_branch: Option<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer_until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_minutes: Option<Estimate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<BeadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Arc<Note>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_repo: Option<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_word: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<BeadType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_word: Option<Word>,
}

/// A [`Field`] that is ordered by its name, because `_v` is an object with sorted keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FieldName(pub Field);

impl Ord for FieldName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.name().cmp(other.0.name())
    }
}

impl PartialOrd for FieldName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Field {
    /// Returns the name of the field in the files and in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Priority => "priority",
            Self::Type => "type",
            Self::Labels => "labels",
            Self::Design => "design",
            Self::AcceptanceCriteria => "acceptance_criteria",
            Self::ExternalRef => "external_ref",
            Self::SourceRepo => "source_repo",
            Self::EstimatedMinutes => "estimated_minutes",
            Self::DueAt => "due_at",
            Self::DeferUntil => "defer_until",
            Self::Metadata => "metadata",
            Self::Status => "status",
            Self::Assignee => "assignee",
            Self::AssigneeExpires => "assignee_expires",
        }
    }
}

impl Body {
    pub(crate) fn put_status(&mut self, group: &StatusGroup) {
        self.status = Some(group.status);
        self.status_word.clone_from(&group.word);
        self.closed_reason = group.closed_reason.stored();
        self.closed_on_branch = group.closed_on_branch.stored();
    }

    pub(crate) fn put_type(&mut self, group: &TypeGroup) {
        self.kind = Some(group.kind);
        self.type_word.clone_from(&group.word);
    }

    /// Returns the lowest format version that can hold this line.
    pub(crate) fn format_version(&self) -> u64 {
        let words = self.status_word.is_some() || self.type_word.is_some();
        if words || self.notes.iter().any(|note| note.is_structured()) { 2 } else { 1 }
    }

    /// Returns the body of a complete bead. `top` is the bead-level mark; registers with another mark are
    /// listed in `_v`.
    pub(crate) fn of_bead(bead: &Bead, top: &Mark) -> Self {
        let differing =
            Field::ALL.iter().map(|field| (*field, bead.mark(*field))).filter(|(_, mark)| *mark != top);
        let mut body = Self::with_versions(&Patch::from(bead), differing);
        body.at = Some(top.at());
        body.by = Some(top.by().clone());
        body
    }

    /// Returns the body of a patch. `_v` lists every register in it, unless the patch has all of them, as that
    /// of a new bead: nearly all then have the same mark, which is written once, as in a line.
    pub(crate) fn of_patch(patch: &Patch) -> Self {
        match &patch.title {
            Some(title) if patch.is_complete() => {
                let top = &title.mark;
                let mut body = Self::with_versions(patch, patch.marks().filter(|(_, mark)| *mark != top));
                (body.at, body.by) = (Some(top.at()), Some(top.by().clone()));
                body
            }
            _ => Self::with_versions(patch, patch.marks()),
        }
    }

    fn with_versions<'a>(patch: &Patch, versions: impl Iterator<Item = (Field, &'a Mark)>) -> Self {
        let mut body = Self {
            versions: versions.map(|(field, mark)| (FieldName(field), mark.clone())).collect(),
            created_on_branch: patch.created_on_branch.stored(),
            notes: patch.notes.clone(),
            ..Self::default()
        };
        patch.write_singles(&mut body);
        if let Some(status) = &patch.status {
            body.put_status(&status.value);
        }
        if let Some(kind) = &patch.kind {
            body.put_type(&kind.value);
        }
        if let Some(claim) = &patch.claim {
            body.assignee.clone_from(&claim.assignee);
            body.assignee_expires = claim.expires;
        }
        body.notes.sort_by(|a, b| a.order().cmp(&b.order()));
        body
    }

    /// Returns the bead-level mark, `_at` and `_by`.
    pub(crate) fn top(&self) -> Option<Mark> {
        Some(Mark::new(self.at?, self.by.clone()?))
    }

    /// Returns the registers in a line. A line with `_at` has every register.
    pub(crate) fn into_patch(mut self) -> Result<Patch, String> {
        let top = match (self.at.take(), self.by.take()) {
            (Some(at), Some(by)) => Some(Mark::new(at, by)),
            (None, None) => None,
            _ => return Err("_at and _by must occur together".into()),
        };
        let versions = std::mem::take(&mut self.versions);
        let mark = |field| versions.get(&FieldName(field)).or(top.as_ref()).cloned();
        let mut patch = Patch {
            created_on_branch: Value::restored(self.created_on_branch.take()).unwrap_or_default(),
            notes: std::mem::take(&mut self.notes),
            ..Patch::default()
        };
        if patch.notes.windows(2).any(|pair| pair[0].order() >= pair[1].order()) {
            return Err("notes are not in order".into());
        }
        if patch.notes.iter().any(|note| note.kind.is_none() && !note.data.is_empty()) {
            return Err("a note has data and no kind".into());
        }
        patch
            .read_singles(&mut self, mark)
            .map_err(|field| format!("{} is missing or has no stamp", field.name()))?;
        patch.status = self.take_status(mark(Field::Status))?;
        patch.kind = self.take_type(mark(Field::Type))?;
        patch.claim = self.take_claim(mark(Field::Assignee), mark(Field::AssigneeExpires))?;
        Ok(patch)
    }

    fn take_status(&mut self, mark: Option<Mark>) -> Result<Option<Register<StatusGroup>>, String> {
        match (mark, self.status.take()) {
            (Some(mark), Some(status)) => {
                let closed_reason = self.closed_reason.take().unwrap_or_default();
                let closed_on_branch = self.closed_on_branch.take().unwrap_or_default();
                if status != Status::Closed && !(closed_reason.is_empty() && closed_on_branch.is_empty()) {
                    return Err("closed_reason and closed_on_branch belong to a closed bead".into());
                }
                let word = self.status_word.take();
                if word.as_ref().is_some_and(|word| word.as_str() == status.as_str()) {
                    return Err("status_word repeats the status".into());
                }
                Ok(Some(Register::new(mark, StatusGroup { status, word, closed_reason, closed_on_branch })))
            }
            (None, None)
                if self.closed_reason.is_none()
                    && self.closed_on_branch.is_none()
                    && self.status_word.is_none() =>
            {
                Ok(None)
            }
            _ => Err("status is missing or has no stamp".into()),
        }
    }

    fn take_type(&mut self, mark: Option<Mark>) -> Result<Option<Register<TypeGroup>>, String> {
        let word = self.type_word.take();
        match (mark, self.kind.take()) {
            (Some(_), Some(kind)) if word.as_ref().is_some_and(|word| word.as_str() == kind.as_str()) => {
                Err("type_word repeats the type".into())
            }
            (Some(mark), Some(kind)) => Ok(Some(Register::new(mark, TypeGroup { kind, word }))),
            (None, None) if word.is_none() => Ok(None),
            _ => Err("type is missing or has no stamp".into()),
        }
    }

    fn take_claim(
        &mut self,
        mark: Option<Mark>,
        expires_mark: Option<Mark>,
    ) -> Result<Option<Claim>, String> {
        let (assignee, expires) = (self.assignee.take(), self.assignee_expires.take());
        match (mark, expires_mark) {
            (Some(mark), Some(expires_mark)) => {
                if assignee.is_none() && expires.is_some() {
                    return Err("assignee_expires without assignee".into());
                }
                Ok(Some(Claim { mark, assignee, expires_mark, expires }))
            }
            (None, None) if assignee.is_none() && expires.is_none() => Ok(None),
            _ => Err("assignee is missing or has no stamp".into()),
        }
    }
}
