use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Sort;
use crate::words::MEMORY;
use crate::{
    Actor, Bead, Catalog, EdgeKind, Error, Label, Lineage, Priority, Result, Status, StatusName, Timestamp,
    TypeName,
};

/// Which beads `list`, `search`, `ready` and `count` speak of. Everything given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only these; ids that do not exist are silently absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusFilter>,
    #[serde(rename = "type", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_min: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_max: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unassigned: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_any: Vec<Label>,
    /// Direct children of this bead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Found in id, title, description or notes, in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_contains: Option<String>,
    /// With exactly this reference into another tracker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_after: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_after: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_after: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_before: Option<Timestamp>,
    pub sort: Sort,
    /// All when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A status as it is shown whatever its word, beads that wait for others, or a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StatusFilter {
    Open,
    InProgress,
    Closed,
    /// Waits for unfinished beads, or was set to `blocked` by hand.
    Blocked,
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

/// A filter with its names looked up and its texts folded, ready to judge many beads.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    filter: &'a Filter,
    among: Option<BTreeSet<Lineage>>,
    text: Option<String>,
    title: Option<String>,
    /// Memories are only listed when they are asked for.
    memories: bool,
}

impl Filter {
    pub(super) fn prepare(&self, catalog: &Catalog) -> Result<Prepared<'_>> {
        let mut among: Option<BTreeSet<Lineage>> = self
            .ids
            .as_ref()
            .map(|ids| ids.iter().filter_map(|id| catalog.resolve(id).ok()).cloned().collect());
        if let Some(parent) = &self.parent {
            let parent = catalog.resolve(parent)?;
            let children: BTreeSet<_> = catalog.sources(parent, EdgeKind::Parent).cloned().collect();
            among = Some(match among {
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
            among,
            text: fold(&self.text),
            title: fold(&self.title_contains),
            memories,
        })
    }
}

impl Prepared<'_> {
    /// The few beads that can match, when the filter names them.
    pub(super) fn among(&self) -> Option<&BTreeSet<Lineage>> {
        self.among.as_ref()
    }

    pub(super) fn matches(&self, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> bool {
        let filter = self.filter;
        self.among.as_ref().is_none_or(|among| among.contains(lineage))
            && filter.external_ref.as_ref().is_none_or(|asked| bead.external_ref.value.as_str() == asked)
            && (filter.status.is_empty()
                || filter.status.iter().any(|status| has(status, catalog, lineage, bead)))
            && (self.memories || !bead.is_memory())
            && (filter.types.is_empty() || filter.types.iter().any(|kind| is_kind(kind, bead)))
            && filter.priority_min.is_none_or(|least| bead.priority.value >= least)
            && filter.priority_max.is_none_or(|most| bead.priority.value <= most)
            && filter.assignee.as_ref().is_none_or(|actor| bead.claim.assignee.as_ref() == Some(actor))
            && !(filter.unassigned && bead.claim.assignee.is_some())
            && filter.labels.iter().all(|label| bead.labels.value.contains(label))
            && (filter.labels_any.is_empty()
                || filter.labels_any.iter().any(|label| bead.labels.value.contains(label)))
            && self.times_match(lineage, bead)
            && self.title.as_ref().is_none_or(|text| contains(bead.title.value.as_str(), text))
            && self.text.as_ref().is_none_or(|text| mentions(catalog, lineage, bead, text))
    }

    fn times_match(&self, lineage: &Lineage, bead: &Bead) -> bool {
        let filter = self.filter;
        let within = |time: u64, after: Option<Timestamp>, before: Option<Timestamp>| {
            after.is_none_or(|after| time >= after.ms()) && before.is_none_or(|before| time < before.ms())
        };
        let closed_asked = filter.closed_after.is_some() || filter.closed_before.is_some();
        let updated_asked = filter.updated_after.is_some() || filter.updated_before.is_some();
        within(lineage.at().ms(), filter.created_after, filter.created_before)
            && (!updated_asked
                || within(bead.updated().at().ms(), filter.updated_after, filter.updated_before))
            && (!closed_asked
                || (bead.status() == Status::Closed
                    && within(bead.status.mark.at().ms(), filter.closed_after, filter.closed_before)))
    }
}

fn has(status: &StatusFilter, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> bool {
    let shown = bead.status();
    match status {
        StatusFilter::Blocked => {
            bead.shown_status() == "blocked"
                || (shown != Status::Closed && catalog.open_blockers(lineage).next().is_some())
        }
        StatusFilter::Word(word) => bead.shown_status() == word.as_str(),
        other => *other == shown.into(),
    }
}

/// One of our types means every bead of it, whatever its word.
fn is_kind(asked: &TypeName, bead: &Bead) -> bool {
    let group = &bead.kind.value;
    asked.plain() == Some(group.kind) || group.shown() == asked.as_str()
}

fn mentions(catalog: &Catalog, lineage: &Lineage, bead: &Bead, folded: &str) -> bool {
    contains(catalog.id_of(lineage).as_str(), folded)
        || contains(bead.title.value.as_str(), folded)
        || contains(bead.description.value.as_str(), folded)
        || bead.notes.values().any(|note| contains(note.content.as_str(), folded))
}

fn contains(text: &str, folded: &str) -> bool {
    text.to_lowercase().contains(folded)
}
