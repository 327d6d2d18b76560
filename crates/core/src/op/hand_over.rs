use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::lease::check_lease;
use super::{Applied, Guard};
use crate::{
    Actor, Catalog, Claim, Context, Delta, Error, Metadata, Note, Patch, Result, Status, Text, Word,
};

/// The kind of the note that records a handover.
pub const HANDOVER: &str = "handover";

/// How long an offer is valid by default: ten minutes.
pub(super) const OFFERED_FOR_MS: u64 = 10 * 60 * 1000;

/// Offers a bead to another actor, who gets it first when asking for work. If the offer expires, the bead is
/// ready for everyone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HandOver {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Actor who should continue the work
    pub to: Actor,
    /// How long the offer is valid, in milliseconds; ten minutes if absent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::LeaseMs>"))]
    pub within_ms: Option<u64>,
    /// What the next worker needs to know, recorded as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub text: Text,
    /// Hand over a bead that another actor holds; `text` must say why
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl HandOver {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
        if bead.status() == Status::Closed {
            return Err(Error::Closed(catalog.id_of(lineage).clone()));
        }
        check_lease(catalog, lineage, bead, context, self.force.then_some(&self.text))?;
        if self.to == context.actor {
            return Err(Error::invalid("to", "it is you; claim the bead instead"));
        }
        let mark = context.mark(bead.stamps())?;
        let expires = context.lease_end(Some(self.within_ms.unwrap_or(OFFERED_FOR_MS)))?;
        let text = match self.text.is_empty() {
            true => format!("handed over to {}", self.to).parse()?,
            false => self.text.clone(),
        };
        let data: Metadata = serde_json::from_value(json!({"from": context.actor, "to": self.to}))
            .map_err(|error| Error::invalid("to", error.to_string()))?;
        let note = Note::structured(lineage, &mark, text, HANDOVER.parse::<Word>()?, data);
        let patch = Patch {
            claim: Some(Claim::new(mark, Some(self.to.clone()), Some(expires))),
            notes: vec![Arc::new(note)],
            ..Patch::default()
        };
        Ok(Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)))
    }
}
