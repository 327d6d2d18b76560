use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::close_check::CloseCheck;
use super::{Applied, Guard, Warning};
use crate::{
    Bead, CLOSE_REQUIRE_EVIDENCE, Catalog, Context, Delta, EVIDENCE, Error, Evidence, Lineage, Note, Patch,
    Register, Result, Status, StatusGroup, Text,
};

/// Closes a bead. Closing a closed bead changes nothing, unless it is forced with a different reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Close {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// What was done, or why the bead is closed
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// Refuse instead of warning if another actor holds the bead, or it has open blockers or open children.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub strict: bool,
    /// Close despite a claim, open blockers or open children; on a closed bead, replace time and reason
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Evidence that it is done: commit:SHA, url:URL or cmd:TEXT
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Text>", length(max = 32)))]
    pub evidence: Vec<Evidence>,
}

/// Refuses a cancelled bead; it has to be reopened first.
pub(super) fn check_not_cancelled(catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> Result<()> {
    if !bead.is_cancelled() {
        return Ok(());
    }
    let reason = bead.status.value.closed_reason.to_string();
    Err(Error::Cancelled { id: catalog.id_of(lineage).clone(), reason })
}

impl Close {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve_to_change(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        // Before the guard: a worker on a cancelled bead should see why it was cancelled, not a stale fence.
        check_not_cancelled(catalog, lineage, bead)?;
        self.guard.check(catalog, lineage, bead)?;
        let old = &bead.status.value;
        let same_reason = self.reason.is_empty() || self.reason == old.closed_reason;
        if old.status == Status::Closed && (!self.force || same_reason) {
            return Ok(Applied::unchanged(lineage));
        }
        let strict = self.strict || self.guard.fence.is_some();
        let mut warnings = Vec::new();
        if old.status != Status::Closed {
            warnings = CloseCheck { strict, force: self.force }.check(catalog, lineage, bead, context)?;
            warnings.extend(self.check_evidence(catalog, lineage, bead)?);
        }
        let mark = context.mark(bead.stamps())?;
        let group = StatusGroup {
            status: Status::Closed,
            word: None,
            closed_reason: self.reason.clone(),
            closed_on_branch: context.branch.clone(),
        };
        let notes = self.evidence.iter().map(|one| Ok(Arc::new(one.note(lineage, &mark)?)));
        let notes = notes.collect::<Result<_>>()?;
        let patch = Patch { status: Some(Register::new(mark, group)), notes, ..Patch::default() };
        let unblocked =
            if old.status == Status::Closed { Vec::new() } else { catalog.waiting_only_for(lineage) };
        Ok(Applied { unblocked, warnings, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }

    /// Enforces the setting `close.require_evidence`. Evidence recorded earlier counts.
    fn check_evidence(&self, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> Result<Option<Warning>> {
        let is_evidence = |note: &Arc<Note>| note.kind.as_ref().is_some_and(|kind| kind.as_str() == EVIDENCE);
        if !self.evidence.is_empty() || self.force || bead.notes.values().any(is_evidence) {
            return Ok(None);
        }
        match catalog.state().setting(CLOSE_REQUIRE_EVIDENCE) {
            Some("require") => Err(Error::EvidenceRequired { id: catalog.id_of(lineage).clone() }),
            Some("warn") => Ok(Some(Warning::NoEvidence)),
            _ => Ok(None),
        }
    }
}
