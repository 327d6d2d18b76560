use super::Warning;
use crate::{Bead, BeadId, BeadType, CLOSE_CHECK, Catalog, Context, Error, Lineage, Result};

/// How strictly to treat problems with closing a bead.
#[derive(Debug, Clone, Copy)]
pub(super) struct CloseCheck {
    /// Refuse instead of warning.
    pub strict: bool,
    /// Close in any case, without warnings.
    pub force: bool,
}

impl CloseCheck {
    /// Checks for another actor's claim, open blockers, and open children of an epic.
    pub(super) fn check(
        self,
        catalog: &Catalog,
        lineage: &Lineage,
        bead: &Bead,
        context: &Context<'_>,
    ) -> Result<Vec<Warning>> {
        if self.force {
            return Ok(Vec::new());
        }
        let setting = catalog.state().setting(CLOSE_CHECK);
        let open_is_refused = self.strict || setting == Some("refuse");
        let open_is_ignored = !self.strict && setting == Some("off");
        let id = || catalog.id_of(lineage).clone();
        let mut warnings = Vec::new();
        if let Some(holder) = bead.claim.held_by_other(&context.actor, context.lease_now_ms()) {
            if self.strict {
                return Err(Error::NotHolder { id: id(), holder: holder.clone() });
            }
            warnings.push(Warning::ClaimOf(holder.clone()));
        }
        let ids = |found: Vec<&Lineage>| -> Vec<BeadId> {
            found.into_iter().map(|lineage| catalog.id_of(lineage).clone()).collect()
        };
        if open_is_ignored {
            return Ok(warnings);
        }
        let open = ids(catalog.open_blockers(lineage).collect());
        if !open.is_empty() {
            if open_is_refused {
                return Err(Error::OpenBlockers { id: id(), open });
            }
            warnings.push(Warning::OpenBlockers(open));
        }
        let open = ids(catalog.open_children(lineage).collect());
        if bead.kind.value.kind == BeadType::Epic && !open.is_empty() {
            if open_is_refused {
                return Err(Error::OpenChildren { id: id(), open });
            }
            warnings.push(Warning::OpenChildren(open));
        }
        Ok(warnings)
    }
}
