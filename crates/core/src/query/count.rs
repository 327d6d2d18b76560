use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Filter;
use crate::{Bead, Catalog, Result, Status};

const MS_PER_HOUR: f64 = 3_600_000.0;

/// What to count by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountBy {
    Status,
    Type,
    Priority,
    Assignee,
    Label,
}

/// One row of a count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    pub group: String,
    pub count: usize,
}

/// The store in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    pub total_issues: usize,
    pub open_issues: usize,
    pub in_progress_issues: usize,
    pub closed_issues: usize,
    pub blocked_issues: usize,
    pub deferred_issues: usize,
    pub ready_issues: usize,
    pub deleted_issues: usize,
    /// The same, as clients of the Go `bd` call it.
    pub tombstone_issues: usize,
    pub epics_eligible_for_closure: usize,
    /// From making to closing, over all closed beads; 0 when there are none.
    pub average_lead_time_hours: f64,
}

impl Catalog {
    pub fn count(&self, filter: &Filter) -> Result<usize> {
        let prepared = filter.prepare(self)?;
        Ok(self.live().filter(|(lineage, bead)| prepared.matches(self, lineage, bead)).count())
    }

    /// Counts by group, in byte order of the group's name. A bead with two labels counts in both.
    pub fn count_by(&self, filter: &Filter, by: CountBy) -> Result<Vec<Group>> {
        let prepared = filter.prepare(self)?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (_, bead) in self.live().filter(|(lineage, bead)| prepared.matches(self, lineage, bead)) {
            for group in groups(bead, by) {
                *counts.entry(group).or_default() += 1;
            }
        }
        Ok(counts.into_iter().map(|(group, count)| Group { group, count }).collect())
    }

    /// Counts work; memories are none.
    pub fn summary(&self, now_ms: u64) -> Result<Summary> {
        let mut summary = Summary::default();
        let mut lead_ms = 0;
        for (lineage, bead) in self.work() {
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
        summary.blocked_issues = self.blocked(&Filter::default())?.len();
        summary.ready_issues = self.ready(&Default::default(), now_ms)?.len();
        summary.deleted_issues = self.deleted().filter(|(_, bead)| !bead.is_memory()).count();
        summary.tombstone_issues = summary.deleted_issues;
        summary.epics_eligible_for_closure =
            self.epics().iter().filter(|epic| epic.eligible_for_close).count();
        Ok(summary)
    }
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
