use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Catalog, Label};

/// A label and the number of beads that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelCount {
    /// The label.
    pub label: Label,
    /// Number of beads with the label; deleted ones do not count.
    pub count: usize,
}

impl Catalog {
    /// Counts the beads of each label in use, in byte order of the labels.
    pub fn labels(&self) -> Vec<LabelCount> {
        let mut counts: BTreeMap<&Label, usize> = BTreeMap::new();
        for (_, bead) in self.work_by_age() {
            for label in &bead.labels.value {
                *counts.entry(label).or_default() += 1;
            }
        }
        counts.into_iter().map(|(label, count)| LabelCount { label: label.clone(), count }).collect()
    }
}
