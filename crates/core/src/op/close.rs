use serde::{Deserialize, Serialize};

use super::close_check::CloseCheck;
use super::{Applied, Guard};
use crate::{Catalog, Context, Delta, Error, Patch, Register, Result, Status, StatusGroup, Text};

/// Finishes a bead. Closing a closed bead changes nothing, unless it is forced with another reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Close {
    pub id: String,
    #[serde(flatten)]
    pub guard: Guard,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// Refuses what is held by another actor, has open blockers or open children, instead of warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Closes in any case, and replaces when, by whom and why a closed bead was closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl Close {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve_to_change(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
        let old = &bead.status.value;
        let same_reason = self.reason.is_empty() || self.reason == old.closed_reason;
        if old.status == Status::Closed && (!self.force || same_reason) {
            return Ok(Applied::unchanged(lineage));
        }
        let strict = self.strict || self.guard.fence.is_some();
        let warnings = match old.status {
            Status::Closed => Vec::new(),
            _ => CloseCheck { strict, force: self.force }.check(catalog, lineage, bead, context)?,
        };
        let mark = context.mark(bead.stamps())?;
        let group = StatusGroup {
            status: Status::Closed,
            word: None,
            closed_reason: self.reason.clone(),
            closed_on_branch: context.branch.clone(),
        };
        let patch = Patch { status: Some(Register::new(mark, group)), ..Patch::default() };
        let unblocked =
            if old.status == Status::Closed { Vec::new() } else { catalog.waiting_only_for(lineage) };
        Ok(Applied { unblocked, warnings, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }
}
