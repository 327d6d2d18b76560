use beads_core::Timestamp;

use super::reader::Reader;
use crate::render::QuestionAnswer;

impl Reader<'_> {
    /// Returns the open questions, oldest first.
    pub(super) fn questions(&self) -> Vec<QuestionAnswer> {
        let answer = |(lineage, question): (&beads_core::Lineage, beads_core::Question)| {
            let bead = self.catalog.bead(lineage)?;
            Some(QuestionAnswer {
                id: self.catalog.id_of(lineage).clone(),
                title: bead.title.value.clone(),
                question: question.note.id.clone(),
                text: question.note.content.as_str().to_owned(),
                options: question.options(),
                asked_by: question.asked_by().clone(),
                at: Timestamp::from(question.note.at).to_string(),
                age_ms: self.now_ms.saturating_sub(question.note.at.ms()),
                waiting: self.catalog.waiting_behind(lineage),
            })
        };
        self.catalog.open_questions().into_iter().filter_map(answer).collect()
    }
}
