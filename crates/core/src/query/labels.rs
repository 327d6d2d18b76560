use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Catalog, Label};

/// A label and how many live beads carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelCount {
    pub label: Label,
    pub count: usize,
}

impl Catalog {
    /// Every label in use, in byte order.
    pub fn labels(&self) -> Vec<LabelCount> {
        let mut counts: BTreeMap<&Label, usize> = BTreeMap::new();
        for (_, bead) in self.work() {
            for label in &bead.labels.value {
                *counts.entry(label).or_default() += 1;
            }
        }
        counts.into_iter().map(|(label, count)| LabelCount { label: label.clone(), count }).collect()
    }
}
