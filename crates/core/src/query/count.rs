use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Filter;
use crate::{Bead, Catalog, Result, SharedBead, Status};

const MS_PER_HOUR: f64 = 3_600_000.0;

/// The property by which beads are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountBy {
    /// By status, or its custom word.
    Status,
    /// By type, or its custom word.
    Type,
    /// By priority.
    Priority,
    /// By assignee.
    Assignee,
    /// By label.
    Label,
}

/// The number of beads in one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Name of the group, such as a status or a label.
    pub group: String,
    /// Number of beads in it.
    pub count: usize,
}

/// Statistics of the store. Memories do not count.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Beads that are not deleted.
    pub total_issues: usize,
    /// Open beads.
    pub open_issues: usize,
    /// Beads in progress.
    pub in_progress_issues: usize,
    /// Closed beads.
    pub closed_issues: usize,
    /// Unfinished beads with open blockers, or with the status `blocked`.
    pub blocked_issues: usize,
    /// Unfinished beads that are deferred to a later time.
    pub deferred_issues: usize,
    /// Beads that `bd claim --next` hands out to any actor now: without epics that wait for their children
    /// and beads assigned to an actor.
    pub ready_issues: usize,
    /// Deleted beads.
    pub deleted_issues: usize,
    /// Same as `deleted_issues`, for clients of the Go `bd`.
    pub tombstone_issues: usize,
    /// Archived beads; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub archived_issues: usize,
    /// Open epics whose children are all closed.
    pub epics_eligible_for_closure: usize,
    /// Average time from creation to close, over all closed beads; 0 if there are none.
    pub average_lead_time_hours: f64,
}

impl Catalog {
    /// Counts the live beads that match a filter.
    pub fn count(&self, filter: &Filter) -> Result<usize> {
        let prepared = filter.prepare(self)?;
        Ok(self.by_age().filter(|(lineage, bead)| prepared.matches(self, lineage, bead)).count())
    }

    /// Counts the live beads that match a filter by group, in byte order of the group names. A bead with two
    /// labels counts in both groups.
    pub fn count_by(&self, filter: &Filter, by: CountBy) -> Result<Vec<Group>> {
        let prepared = filter.prepare(self)?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (_, bead) in self.by_age().filter(|(lineage, bead)| prepared.matches(self, lineage, bead)) {
            for group in groups(bead, by) {
                *counts.entry(group).or_default() += 1;
            }
        }
        Ok(counts.into_iter().map(|(group, count)| Group { group, count }).collect())
    }

    /// Returns the statistics of the store.
    pub fn summary(&self, now_ms: u64) -> Result<Summary> {
        let mut summary = Summary::default();
        let mut lead_ms = 0;
        for (lineage, bead) in self.work_by_age() {
            summary.total_issues += 1;
            match bead.status() {
                Status::Open => summary.open_issues += 1,
                Status::InProgress => summary.in_progress_issues += 1,
                Status::Closed => {
                    summary.closed_issues += 1;
                    lead_ms += bead.status.mark.at().ms().saturating_sub(lineage.at().ms());
                }
            }
            let deferred = bead.defer_until.value.is_some_and(|until| until.ms() > now_ms);
            summary.deferred_issues += usize::from(deferred && bead.status() != Status::Closed);
        }
        if summary.closed_issues > 0 {
            summary.average_lead_time_hours = lead_ms as f64 / summary.closed_issues as f64 / MS_PER_HOUR;
        }
        let is_blocked = |(_, bead, has_open_blocker): &(_, &SharedBead, bool)| {
            let is_unfinished = bead.status.value.status != Status::Closed && !bead.is_memory();
            is_unfinished && (*has_open_blocker || bead.status.value.shown() == "blocked")
        };
        summary.blocked_issues = self.with_blockers().filter(is_blocked).count();
        summary.ready_issues =
            self.claimable(now_ms).filter(|bead| bead.claim.holder(now_ms).is_none()).count();
        summary.deleted_issues = self.deleted().filter(|(_, bead)| !bead.is_memory()).count();
        summary.tombstone_issues = summary.deleted_issues;
        summary.archived_issues = self.archived().count();
        summary.epics_eligible_for_closure = self.finished_epics().count();
        Ok(summary)
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn groups(bead: &Bead, by: CountBy) -> Vec<String> {
    match by {
        CountBy::Status => vec![bead.shown_status().to_owned()],
        CountBy::Type => vec![bead.kind.value.shown().to_owned()],
        CountBy::Priority => vec![bead.priority.value.to_string()],
        CountBy::Assignee => {
            vec![bead.claim.assignee.as_ref().map_or_else(|| "(unassigned)".into(), ToString::to_string)]
        }
        CountBy::Label if bead.labels.value.is_empty() => vec!["(no labels)".into()],
        CountBy::Label => bead.labels.value.iter().map(ToString::to_string).collect(),
    }
}
