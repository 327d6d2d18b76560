use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Conflict, ConflictId, Context, Delta, Error, Mark, Result};

/// Dismisses a conflict: the value that won is the right one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictDismiss {
    /// The conflict to dismiss.
    pub id: ConflictId,
}

impl ConflictDismiss {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let conflict = find(catalog, &self.id)?;
        if conflict.dismissed.is_some() {
            return Ok(Applied::bead(&conflict.bead, Delta::default()));
        }
        let mark = context.mark([])?;
        Ok(Applied::bead(
            &conflict.bead,
            Delta { conflicts: vec![dismissed(conflict, mark)], ..Delta::default() },
        ))
    }
}

pub(super) fn find<'a>(catalog: &'a Catalog, id: &ConflictId) -> Result<&'a Conflict> {
    catalog.state().conflicts().get(id).ok_or_else(|| Error::NotFound(id.to_string()))
}

pub(super) fn dismissed(conflict: &Conflict, mark: Mark) -> Conflict {
    Conflict { dismissed: Some(mark), ..conflict.clone() }
}
