use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Context, Delta, Edge, EdgeKey, EdgeKind, Error, Lineage, Result};

/// Adds a dependency: `from` waits for `to`, is its child, is related to it, or was discovered while working
/// on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DepAdd {
    /// Bead that depends on the other
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub from: String,
    /// Bead it depends on
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub to: String,
    /// Kind of dependency
    #[serde(default)]
    pub kind: EdgeKind,
}

impl DepAdd {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (from, to) = (catalog.resolve_to_change(&self.from)?, catalog.resolve_to_change(&self.to)?);
        check_edge(catalog, from, to, self.kind)?;
        let key = EdgeKey::new(from, to, self.kind);
        let old = catalog.state().edge(&key);
        let delta = if old.is_some_and(|edge| !edge.deleted) {
            Delta::default()
        } else {
            let mark = context.mark(old.map(|edge| edge.changed.at()))?;
            Delta::of_edge(key.clone(), Edge::added(mark))
        };
        Ok(Applied { edge: Some(key), ..Applied::bead(from, delta) })
    }
}

/// Refuses an edge from a bead to itself, and an edge that would close a cycle.
pub(super) fn check_edge(catalog: &Catalog, from: &Lineage, to: &Lineage, kind: EdgeKind) -> Result<()> {
    if from == to {
        return Err(Error::SelfEdge(catalog.id_of(from).clone()));
    }
    if !kind.is_acyclic() {
        return Ok(());
    }
    match catalog.path(to, from, kind) {
        None => Ok(()),
        Some(path) => {
            let ids = [from].into_iter().chain(&path).map(|lineage| catalog.id_of(lineage).clone());
            Err(Error::Cycle(ids.collect()))
        }
    }
}
