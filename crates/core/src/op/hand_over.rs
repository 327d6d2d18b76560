use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::lease::check_lease;
use super::{Applied, Guard};
use crate::{
    Actor, Catalog, Claim, Context, Delta, Error, Metadata, Note, Patch, Result, Status, Text, Word,
};

/// The kind of the note that comes with an offer.
pub const HANDOVER: &str = "handover";

/// How long an offer stands unless the caller says otherwise: ten minutes.
const OFFERED_FOR_MS: u64 = 10 * 60 * 1000;

/// Moves a claim to another actor as an offer. It is taken first when that actor asks for work; when it is not taken in
/// time, the bead is ready for everyone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HandOver {
    /// The bead, or a beginning of its id that fits only one
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    #[serde(flatten)]
    pub guard: Guard,
    /// Who should go on with it
    pub to: Actor,
    /// How long the offer stands, in milliseconds; ten minutes when absent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::LeaseMs>"))]
    pub within_ms: Option<u64>,
    /// What the next worker should know; kept as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub text: Text,
    /// Hand over what another actor holds; the text says why
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
            return Err(Error::invalid("to", "is the caller; claim the bead instead"));
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
