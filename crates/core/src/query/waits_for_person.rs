//! What no agent continues by itself.

use serde::Serialize;

use super::Readiness;
use crate::{Actor, Bead, BeadId, Catalog, Lineage, Note, Status, Timestamp, Title};

/// Why a person is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
pub enum PersonNeed {
    /// A question has no answer.
    Question,
    /// A conflict is not dismissed.
    Conflict,
    /// The bead is in progress without a claim.
    Stuck,
    /// The bead has the status `blocked`.
    Blocked,
    /// The assignee has not started.
    Assigned,
    /// All children of an epic are closed.
    CloseEpic,
}

/// Something that no agent continues by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsForPerson {
    /// `question`: unanswered. `conflict`: not dismissed. `stuck`: in progress without a claim. `blocked`: by
    /// its status. `assigned`: to an actor that has not started. `close_epic`: all children are closed.
    pub need: PersonNeed,
    /// The bead.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// Who asked, or whom it is assigned to.
    pub actor: Option<Actor>,
    /// Since when it waits.
    pub since: String,
    /// The question, or the field of the conflict.
    pub text: Option<String>,
}

impl Catalog {
    /// Returns what no agent continues by itself, oldest first within each need.
    pub fn waits_for_person(&self, now_ms: u64) -> Vec<WaitsForPerson> {
        let mut waiting = Vec::new();
        for (lineage, bead) in
            self.work_by_age().filter(|(_, bead)| bead.status.value.status != Status::Closed)
        {
            waiting.extend(self.need_of(lineage, bead, now_ms));
        }
        for conflict in self.state().conflicts().values().filter(|conflict| conflict.dismissed.is_none()) {
            let Some(bead) = self.live_bead(&conflict.bead) else { continue };
            let field = conflict.field.name().to_owned();
            let (actor, at) = (conflict.lost.by(), conflict.lost.at().ms());
            waiting.push(self.need(PersonNeed::Conflict, &conflict.bead, bead, Some(actor), at, Some(field)));
        }
        for (lineage, bead) in self.finished_epics() {
            let at = bead.updated().at().ms();
            waiting.push(self.need(PersonNeed::CloseEpic, lineage, bead, None, at, None));
        }
        waiting.sort_by(|a, b| (a.need, &a.since, &a.id).cmp(&(b.need, &b.since, &b.id)));
        waiting
    }

    fn need_of(&self, lineage: &Lineage, bead: &Bead, now_ms: u64) -> Vec<WaitsForPerson> {
        let mut needs = Vec::new();
        let last = |kind| bead.notes.values().filter(|note| is_kind(note, kind)).max_by_key(|note| note.at);
        let answered = last("answer").map(|note| note.at);
        if let Some(question) = last("question").filter(|question| Some(question.at) > answered) {
            let text = Some(question.content.to_string());
            let (by, at) = (Some(&question.author), question.at.ms());
            needs.push(self.need(PersonNeed::Question, lineage, bead, by, at, text));
        }
        let status_at = bead.status.mark.at().ms();
        let is_blocked = self.set_aside_by(bead).is_some_and(|word| word.as_str() == "blocked");
        match bead.status() {
            Status::InProgress if !bead.claim.is_taken() => {
                needs.push(self.need(PersonNeed::Stuck, lineage, bead, None, status_at, None));
            }
            Status::Open if is_blocked => {
                needs.push(self.need(PersonNeed::Blocked, lineage, bead, None, status_at, None));
            }
            Status::Open
                if bead.claim.assignee.is_some()
                    && self.readiness(lineage, now_ms) == Some(Readiness::Ready) =>
            {
                let assigned = bead.claim.assignee.as_ref();
                let at = bead.claim.mark.at().ms();
                needs.extend(
                    assigned.map(|to| self.need(PersonNeed::Assigned, lineage, bead, Some(to), at, None)),
                );
            }
            _ => {}
        }
        needs
    }

    fn need(
        &self,
        need: PersonNeed,
        lineage: &Lineage,
        bead: &Bead,
        actor: Option<&Actor>,
        at_ms: u64,
        text: Option<String>,
    ) -> WaitsForPerson {
        WaitsForPerson {
            need,
            id: self.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            actor: actor.cloned(),
            since: Timestamp::text_of(at_ms),
            text,
        }
    }
}

pub(super) fn is_kind(note: &Note, kind: &str) -> bool {
    note.kind.as_ref().is_some_and(|known| known.as_str() == kind)
}
