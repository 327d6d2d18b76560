use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::claim::renewal;
use super::lease::check_lease;
use super::{Applied, Guard};
use crate::limits::{MAX_QUESTION_OPTION_CHARS, MAX_QUESTION_OPTIONS};
use crate::question::question_note;
use crate::{Catalog, Claim, Context, Delta, Error, Patch, Result, Status, Text};

/// Asks a person about a bead and gives the claim back. The bead is not ready until the question is answered. The status
/// register is not written: a question that arrives late cannot reopen a closed bead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ask {
    /// The bead, or a beginning of its id that fits only one
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions on the bead
    #[serde(flatten)]
    pub guard: Guard,
    /// The question
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::NonBlankText"))]
    pub text: Text,
    /// Suggested answers; the person may answer something else
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::QuestionOptions"))]
    pub options: Vec<String>,
    /// Keep the claim while waiting for the answer
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
}

impl Ask {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        if bead.status() == Status::Closed {
            return Err(Error::Closed(catalog.id_of(lineage).clone()));
        }
        check_lease(catalog, lineage, bead, context, None)?;
        if self.text.as_str().trim().is_empty() {
            return Err(Error::invalid("question", "it is empty"));
        }
        self.check_options()?;
        let mark = context.mark(bead.stamps())?;
        let note = question_note(lineage, &mark, self.text.clone(), &self.options)?;
        let appended = Some(note.id.clone());
        let claim = match self.keep {
            true => renewal(bead, &mark, context)?,
            false => bead.claim.assignee.is_some().then(|| Claim::new(mark, None, None)),
        };
        let patch = Patch { claim, notes: vec![Arc::new(note)], ..Patch::default() };
        Ok(Applied { note: appended, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }

    fn check_options(&self) -> Result<()> {
        if self.options.len() > MAX_QUESTION_OPTIONS {
            return Err(Error::invalid("option", format!("a question has at most {MAX_QUESTION_OPTIONS}")));
        }
        let fits = |option: &String| {
            !option.trim().is_empty() && option.chars().count() <= MAX_QUESTION_OPTION_CHARS
        };
        if self.options.iter().all(fits) {
            return Ok(());
        }
        let message = format!("an option has 1 to {MAX_QUESTION_OPTION_CHARS} characters");
        Err(Error::invalid("option", message))
    }
}
