use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Context, Delta, Edge, EdgeKey, EdgeKind, Error, Result};

/// Removes a dependency. A tombstone of the edge stays in the files, so that other replicas do not bring it
/// back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DepRemove {
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

impl DepRemove {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        // Edges of deleted beads can be removed too.
        let (from, to) =
            (catalog.resolve_any_to_change(&self.from)?, catalog.resolve_any_to_change(&self.to)?);
        let key = EdgeKey::new(from, to, self.kind);
        let Some(old) = catalog.state().edge(&key).filter(|edge| !edge.deleted) else {
            let (from, to) = (catalog.id_of(from).clone(), catalog.id_of(to).clone());
            return Err(Error::NoSuchEdge { from, to, kind: self.kind.as_str() });
        };
        let mark = context.mark([old.changed.at()])?;
        let edge = Edge { created: old.created.clone(), changed: mark, deleted: true };
        Ok(Applied { edge: Some(key.clone()), ..Applied::bead(from, Delta::of_edge(key, edge)) })
    }
}
