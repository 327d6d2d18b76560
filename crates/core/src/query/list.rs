use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Filter;
use crate::{Bead, Catalog, Error, Lineage, Result, SharedBead, Timestamp};

/// The order of a list. Beads with equal keys are sorted by age, oldest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sort {
    /// The sort key.
    pub by: SortKey,
    /// Whether to reverse the order of the key.
    pub reverse: bool,
}

/// What to sort by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortKey {
    /// Most urgent first.
    #[default]
    Priority,
    /// Oldest first.
    Created,
    /// Most recently changed first.
    Updated,
    /// Most recently closed first.
    Closed,
    /// By id.
    Id,
    /// By title.
    Title,
    /// By status: open, in progress, closed.
    Status,
    /// By type.
    Type,
    /// By assignee; unassigned beads last.
    Assignee,
    /// Due first; beads without a due date last.
    Due,
    /// By priority, then by the longest chain of beads that wait for it, then by how many beads it unblocks.
    Impact,
    /// Only for `ready`: beads created in the last two days by priority, then older ones, oldest first.
    Hybrid,
}

impl SortKey {
    /// The sort keys of `list`.
    pub const ALL: [Self; 11] = [
        Self::Priority,
        Self::Created,
        Self::Updated,
        Self::Closed,
        Self::Id,
        Self::Title,
        Self::Status,
        Self::Type,
        Self::Assignee,
        Self::Due,
        Self::Impact,
    ];

    /// Returns whether the greatest value comes first, as users expect for times of change.
    pub fn is_descending(self) -> bool {
        matches!(self, Self::Updated | Self::Closed)
    }

    /// Returns the name of the sort key.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Closed => "closed",
            Self::Id => "id",
            Self::Title => "title",
            Self::Status => "status",
            Self::Type => "type",
            Self::Assignee => "assignee",
            Self::Due => "due",
            Self::Impact => "impact",
            Self::Hybrid => "hybrid",
        }
    }
}

impl std::str::FromStr for SortKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "oldest" => Ok(Self::Created),
            "hybrid" => Ok(Self::Hybrid),
            _ => Self::ALL.into_iter().find(|key| key.as_str() == text).ok_or_else(|| {
                let known = Self::ALL.map(Self::as_str).join(", ");
                Error::invalid("sort", format!("{text:?} is not one of {known}"))
            }),
        }
    }
}

impl Catalog {
    /// Returns the live beads that match a filter, in the order of its `sort`.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Lineage>> {
        if filter.sort.by == SortKey::Hybrid {
            return Err(Error::invalid("sort", "hybrid is only for ready"));
        }
        let prepared = filter.prepare(self)?;
        let limit = filter.limit.unwrap_or(usize::MAX);
        if let Some(candidates) = prepared.candidates() {
            let found = candidates
                .iter()
                .filter_map(|lineage| Some((lineage, self.live_bead(lineage)?)))
                .filter(|(lineage, bead)| prepared.matches(self, lineage, bead));
            return Ok(self.sorted(found, filter.sort, limit));
        }
        if filter.limit.is_none() || filter.sort != Sort::default() {
            self.state().decode_all();
        }
        let found = self.live().filter(|(lineage, bead)| prepared.matches(self, lineage, bead));
        if filter.sort == Sort::default() {
            // The catalog keeps beads in this order, so this stops at the limit without sorting everything.
            return Ok(found.take(limit).map(|(lineage, _)| lineage.clone()).collect());
        }
        Ok(self.sorted(found, filter.sort, limit))
    }

    fn sorted<'a>(
        &self,
        found: impl Iterator<Item = (&'a Lineage, &'a SharedBead)>,
        sort: Sort,
        limit: usize,
    ) -> Vec<Lineage> {
        let mut found: Vec<_> = found.collect();
        let impacts = if sort.by == SortKey::Impact { self.impacts() } else { BTreeMap::new() };
        let impact = |lineage: &Lineage| impacts.get(lineage).copied().unwrap_or_default().order();
        let by = |a: &(&Lineage, &SharedBead), b: &(&Lineage, &SharedBead)| {
            let order = match sort.by {
                SortKey::Priority | SortKey::Hybrid => a.1.priority.value.cmp(&b.1.priority.value),
                SortKey::Created => a.0.cmp(b.0),
                SortKey::Updated => b.1.updated().cmp(&a.1.updated()),
                SortKey::Closed => closed_ms(b.1).cmp(&closed_ms(a.1)),
                SortKey::Id => self.id_of(a.0).cmp(self.id_of(b.0)),
                SortKey::Title => a.1.title.value.cmp(&b.1.title.value),
                SortKey::Status => a.1.status().cmp(&b.1.status()),
                SortKey::Type => a.1.kind.value.kind.cmp(&b.1.kind.value.kind),
                SortKey::Assignee => assigned(a.1).cmp(&assigned(b.1)),
                SortKey::Due => due(a.1).cmp(&due(b.1)),
                SortKey::Impact => {
                    let key = |one: &(&Lineage, &SharedBead)| (one.1.priority.value, impact(one.0));
                    key(a).cmp(&key(b))
                }
            };
            let order = if sort.reverse { order.reverse() } else { order };
            order.then_with(|| a.0.cmp(b.0))
        };
        found.sort_by(by);
        found.into_iter().take(limit).map(|(lineage, _)| lineage.clone()).collect()
    }
}

fn closed_ms(bead: &Bead) -> Option<u64> {
    (bead.status() == crate::Status::Closed).then(|| bead.status.mark.at().ms())
}

/// Sorts beads with a due date by it, and the others last.
fn due(bead: &Bead) -> (Reverse<bool>, Option<u64>) {
    let due = bead.due_at.value.map(Timestamp::ms);
    (Reverse(due.is_some()), due)
}

/// Sorts assigned beads by name, and unassigned ones last.
fn assigned(bead: &Bead) -> (Reverse<bool>, Option<&crate::Actor>) {
    (Reverse(bead.claim.assignee.is_some()), bead.claim.assignee.as_ref())
}
