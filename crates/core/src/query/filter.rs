use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Sort;
use crate::words::MEMORY;
use crate::{
    Actor, Bead, Catalog, EdgeKind, Error, Label, Lineage, Priority, Result, Status, StatusName, Timestamp,
    TypeName,
};

/// The status that deferred beads match, too.
const DEFERRED: &str = "deferred";

/// Selects beads for `list`, `search`, `ready` and `count`. A bead must meet all conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// One of these beads. Unknown ids are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Any of these statuses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusFilter>,
    /// Not closed. Unlike with a status, the text on a terminal says how many closed beads were hidden.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hide_closed: bool,
    /// Any of these types.
    #[serde(rename = "type", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeName>,
    /// At least this priority number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_min: Option<Priority>,
    /// At most this priority number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_max: Option<Priority>,
    /// Assigned to this actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    /// Without an assignee.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unassigned: bool,
    /// All of these labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// At least one of these labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_any: Vec<Label>,
    /// Direct children of this bead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Text in the id, title, description or notes, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Text in the title, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_contains: Option<String>,
    /// Exactly this reference into another tracker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<String>,
    /// Created at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_after: Option<Timestamp>,
    /// Created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_before: Option<Timestamp>,
    /// Last changed at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_after: Option<Timestamp>,
    /// Last changed before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_before: Option<Timestamp>,
    /// Closed at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_after: Option<Timestamp>,
    /// Closed before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_before: Option<Timestamp>,
    /// Due before this time. Beads without a due date do not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_before: Option<Timestamp>,
    /// With the status `deferred`: also unfinished beads that are deferred beyond this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_at: Option<Timestamp>,
    /// The order of the result.
    pub sort: Sort,
    /// The most beads to return; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A status to filter by: one of the three statuses with any custom word, `blocked`, or a custom word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StatusFilter {
    /// Open beads.
    Open,
    /// Beads in progress.
    InProgress,
    /// Closed beads.
    Closed,
    /// Beads with open blockers, or with the custom status `blocked`.
    Blocked,
    /// Beads with this custom status.
    Word(StatusName),
}

impl From<StatusFilter> for String {
    fn from(filter: StatusFilter) -> Self {
        match filter {
            StatusFilter::Open => "open".into(),
            StatusFilter::InProgress => "in_progress".into(),
            StatusFilter::Closed => "closed".into(),
            StatusFilter::Blocked => "blocked".into(),
            StatusFilter::Word(word) => word.to_string(),
        }
    }
}

impl TryFrom<String> for StatusFilter {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Status> for StatusFilter {
    fn from(status: Status) -> Self {
        match status {
            Status::Open => Self::Open,
            Status::InProgress => Self::InProgress,
            Status::Closed => Self::Closed,
        }
    }
}

impl std::str::FromStr for StatusFilter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "blocked" {
            return Ok(Self::Blocked);
        }
        let name: StatusName = text.parse()?;
        Ok(name.plain().map_or(Self::Word(name), Into::into))
    }
}

/// A filter with its ids resolved and its texts in lower case, prepared for testing many beads.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    filter: &'a Filter,
    candidates: Option<BTreeSet<Lineage>>,
    text: Option<String>,
    title: Option<String>,
    /// Whether memories match; only if the filter names ids or the type `memory`.
    memories: bool,
}

impl Filter {
    /// Returns a filter for the beads that [`hide_closed`](Self::hide_closed) hides.
    pub fn hidden(&self) -> Self {
        Self { hide_closed: false, status: vec![StatusFilter::Closed], limit: None, ..self.clone() }
    }

    pub(super) fn prepare(&self, catalog: &Catalog) -> Result<Prepared<'_>> {
        let mut candidates: Option<BTreeSet<Lineage>> = self
            .ids
            .as_ref()
            .map(|ids| ids.iter().filter_map(|id| catalog.resolve(id).ok()).cloned().collect());
        if let Some(parent) = &self.parent {
            let parent = catalog.resolve(parent)?;
            let children: BTreeSet<_> = catalog.sources(parent, EdgeKind::Parent).cloned().collect();
            candidates = Some(match candidates {
                None => children,
                Some(ids) => ids.intersection(&children).cloned().collect(),
            });
        }
        for status in &self.status {
            if let StatusFilter::Word(name) = status {
                name.resolve(catalog.state())?;
            }
        }
        for kind in &self.types {
            kind.resolve(catalog.state())?;
        }
        let memories = self.ids.is_some() || self.types.iter().any(|kind| kind.as_str() == MEMORY);
        let fold = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        Ok(Prepared {
            filter: self,
            candidates,
            text: fold(&self.text),
            title: fold(&self.title_contains),
            memories,
        })
    }
}

impl Prepared<'_> {
    /// Returns the only beads that can match, if the filter names ids or a parent.
    pub(super) fn candidates(&self) -> Option<&BTreeSet<Lineage>> {
        self.candidates.as_ref()
    }

    pub(super) fn matches(&self, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> bool {
        let filter = self.filter;
        self.candidates.as_ref().is_none_or(|candidates| candidates.contains(lineage))
            && filter.external_ref.as_ref().is_none_or(|wanted| bead.external_ref.value.as_str() == wanted)
            && !(filter.hide_closed && bead.status() == Status::Closed)
            && (filter.status.is_empty()
                || filter.status.iter().any(|status| self.has_status(status, catalog, lineage, bead)))
            && (self.memories || !bead.is_memory())
            && (filter.types.is_empty() || filter.types.iter().any(|kind| has_type(kind, bead)))
            && filter.priority_min.is_none_or(|least| bead.priority.value >= least)
            && filter.priority_max.is_none_or(|most| bead.priority.value <= most)
            && filter.assignee.as_ref().is_none_or(|actor| bead.claim.assignee.as_ref() == Some(actor))
            && !(filter.unassigned && bead.claim.assignee.is_some())
            && filter.labels.iter().all(|label| bead.labels.value.contains(label))
            && (filter.labels_any.is_empty()
                || filter.labels_any.iter().any(|label| bead.labels.value.contains(label)))
            && self.times_match(lineage, bead)
            && self.title.as_ref().is_none_or(|text| contains(bead.title.value.as_str(), text))
            && self.text.as_ref().is_none_or(|text| matches_text(catalog, lineage, bead, text))
    }

    fn times_match(&self, lineage: &Lineage, bead: &Bead) -> bool {
        let filter = self.filter;
        let within = |time: u64, after: Option<Timestamp>, before: Option<Timestamp>| {
            after.is_none_or(|after| time >= after.ms()) && before.is_none_or(|before| time < before.ms())
        };
        let filters_closed = filter.closed_after.is_some() || filter.closed_before.is_some();
        let filters_updated = filter.updated_after.is_some() || filter.updated_before.is_some();
        let is_due = |before: Timestamp| bead.due_at.value.is_some_and(|due| due.ms() < before.ms());
        within(lineage.at().ms(), filter.created_after, filter.created_before)
            && filter.due_before.is_none_or(is_due)
            && (!filters_updated
                || within(bead.updated().at().ms(), filter.updated_after, filter.updated_before))
            && (!filters_closed
                || (bead.status() == Status::Closed
                    && within(bead.status.mark.at().ms(), filter.closed_after, filter.closed_before)))
    }

    fn has_status(&self, status: &StatusFilter, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> bool {
        let shown = bead.status();
        match status {
            StatusFilter::Blocked => {
                bead.shown_status() == "blocked"
                    || (shown != Status::Closed && catalog.open_blockers(lineage).next().is_some())
            }
            StatusFilter::Word(word) => {
                bead.shown_status() == word.as_str() || (word.as_str() == DEFERRED && self.is_deferred(bead))
            }
            other => *other == shown.into(),
        }
    }

    fn is_deferred(&self, bead: &Bead) -> bool {
        let until = bead.defer_until.value.filter(|_| bead.status() != Status::Closed);
        until.zip(self.filter.deferred_at).is_some_and(|(until, now)| until.ms() > now.ms())
    }
}

/// Returns whether a bead has a type. A built-in type matches all its custom words too.
fn has_type(wanted: &TypeName, bead: &Bead) -> bool {
    let group = &bead.kind.value;
    wanted.plain() == Some(group.kind) || group.shown() == wanted.as_str()
}

fn matches_text(catalog: &Catalog, lineage: &Lineage, bead: &Bead, folded: &str) -> bool {
    contains(catalog.id_of(lineage).as_str(), folded)
        || contains(bead.title.value.as_str(), folded)
        || contains(bead.description.value.as_str(), folded)
        || bead.notes.values().any(|note| contains(note.content.as_str(), folded))
}

fn contains(text: &str, folded: &str) -> bool {
    text.to_lowercase().contains(folded)
}
