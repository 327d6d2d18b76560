use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::hand_over::OFFERED_FOR_MS;
use super::{Applied, Guard};
use crate::question::{Question, answer_note};
use crate::{Catalog, Claim, Context, Delta, Error, Lineage, Patch, Result, Status, Text};

/// Answers an open question. When it was the last one, the bead is offered to the agent that asked, as a handover offers it,
/// and to everyone once that offer has expired.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerQuestion {
    /// The bead, or a beginning of its id that fits only one
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions on the bead
    #[serde(flatten)]
    pub guard: Guard,
    /// The answer
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::NonBlankText"))]
    pub text: Text,
    /// The note id of the question, or a beginning of it; needed when several questions are open
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::NoteRef>"))]
    pub question: Option<String>,
}

impl AnswerQuestion {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        if self.text.as_str().trim().is_empty() {
            return Err(Error::invalid("answer", "it is empty"));
        }
        let open = bead.open_questions();
        let question = self.pick(catalog, lineage, &open)?;
        let mark = context.mark(bead.stamps())?;
        let note = answer_note(lineage, &mark, self.text.clone(), &question.note.id)?;
        let appended = Some(note.id.clone());
        // A claim that the asker kept, or that another agent made meanwhile, is left alone.
        let free = bead.claim.holder(context.lease_now_ms()).is_none();
        let offered = open.len() == 1 && free && bead.status() != Status::Closed;
        let claim = match offered {
            true => {
                let expires = context.lease_end(Some(OFFERED_FOR_MS))?;
                Some(Claim::new(mark, Some(question.asked_by().clone()), Some(expires)))
            }
            false => None,
        };
        let patch = Patch { claim, notes: vec![Arc::new(note)], ..Patch::default() };
        Ok(Applied { note: appended, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }

    /// Returns the question that is answered: the named one, or the only one that is open.
    fn pick<'a>(&self, catalog: &Catalog, lineage: &Lineage, open: &'a [Question]) -> Result<&'a Question> {
        let id = catalog.id_of(lineage);
        let list = || {
            let one =
                |question: &Question| format!("{} {:?}", question.note.id, question.note.content.as_str());
            open.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        match (&self.question, open) {
            (_, []) => Err(Error::invalid("id", format!("{id} has no open question; nothing was changed"))),
            (None, [only]) => Ok(only),
            (None, _) => {
                let message =
                    format!("{id} has several open questions; name one with --question: {}", list());
                Err(Error::invalid("question", message))
            }
            (Some(wanted), _) => {
                let mut found = open.iter().filter(|question| question.note.id.starts_with(wanted.as_str()));
                match (found.next(), found.next()) {
                    (Some(only), None) => Ok(only),
                    _ => {
                        let message = format!("{wanted:?} names no single open question of {id}: {}", list());
                        Err(Error::invalid("question", message))
                    }
                }
            }
        }
    }
}
