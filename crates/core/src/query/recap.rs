//! What happened in a period: the answer to "what did the agents do last night?".

use serde::Serialize;

use super::lost_work::{BeadEvents, DoneTwice, Undelivered};
use super::workers::{WorkSources, Worker, WorkerState, claim_to_close_ms, is_done, workers_of};
use crate::{
    Actor, Bead, BeadId, Catalog, ConflictId, EVIDENCE, Event, EventKind, Field, Lineage, Note, Status,
    Timestamp, Title,
};

/// What a recap is computed from, besides the beads.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecapSources<'a> {
    /// The period, the events and the sessions.
    pub work: WorkSources<'a>,
    /// Whether the events cover the whole period.
    pub complete: bool,
    /// Since when the sync has been failing, and why.
    pub sync_failing: Option<(u64, &'a str)>,
}

/// What happened in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recap {
    /// The beginning of the period.
    pub since: String,
    /// The end of the period.
    pub until: String,
    /// Whether the local event log covers the period. Otherwise claims that ended within it may be missing.
    pub complete: bool,
    /// Beads that were closed as done, oldest first.
    pub closed: Vec<ClosedWork>,
    /// Beads that were created and not yet deleted, oldest first.
    pub created: Vec<CreatedWork>,
    /// Beads that were cancelled, reopened or released without a result, oldest first.
    pub failed: Vec<FailedWork>,
    /// Claims that were released because their leases had ended.
    pub reclaimed: Vec<ReclaimedWork>,
    /// Writes that lost to concurrent ones.
    pub conflicts: Vec<LostWrite>,
    /// Who did how much, and who is dead, hung or quiet.
    pub actors: Vec<Worker>,
    /// What waits for a person, oldest first.
    pub waiting: Vec<WaitsForPerson>,
    /// Work that was done twice.
    pub done_twice: Vec<DoneTwice>,
    /// The bead that most blocked work waits for.
    pub keystone: Option<Keystone>,
    /// Cancellations and handovers that did not arrive.
    pub undelivered: Vec<Undelivered>,
    /// When the sync failed.
    pub sync_outages: Vec<SyncOutage>,
}

/// A bead that was closed as done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedWork {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that closed it.
    pub by: Actor,
    /// When it was closed.
    pub at: String,
    /// The time from claim to close; null if it was not claimed.
    pub took_ms: Option<u64>,
    /// The reason.
    pub reason: Option<String>,
    /// Evidence that it is done: `commit:SHA`, `url:URL` or `cmd:TEXT`.
    pub evidence: Vec<String>,
}

/// A bead that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreatedWork {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that created it.
    pub by: Actor,
    /// When it was created.
    pub at: String,
}

/// A bead that was cancelled, reopened or released without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedWork {
    /// `cancelled`, `reopened` or `released`.
    pub how: &'static str,
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that did it.
    pub by: Actor,
    /// `released`: the actor that held the bead.
    pub holder: Option<Actor>,
    /// When.
    pub at: String,
    /// The reason.
    pub text: Option<String>,
}

/// A claim that was released because its lease had ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReclaimedWork {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor that held it.
    pub holder: Option<Actor>,
    /// The actor that reclaimed it.
    pub by: Option<Actor>,
    /// When.
    pub at: String,
}

/// A write that lost to a concurrent one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostWrite {
    /// The id of the conflict.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub conflict: ConflictId,
    /// The bead.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The field.
    pub field: Field,
    /// The actor whose write lost.
    pub by: Actor,
    /// The actor whose write won.
    pub won_by: Actor,
    /// When the losing write was made.
    pub at: String,
    /// Whether the conflict was dismissed or the value restored.
    pub dismissed: bool,
}

/// Why a person is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
// A doc comment on a variant would turn `enum` into `oneOf` in the published schemas.
#[allow(missing_docs)]
pub enum PersonNeed {
    Question,
    Conflict,
    Stuck,
    Blocked,
    Assigned,
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

/// The bead that most blocked work waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Keystone {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// How many unfinished beads wait for it, directly or indirectly.
    pub waiting: usize,
    /// The actor that holds it.
    pub holder: Option<Actor>,
    /// Whether the holder still works.
    pub holder_state: Option<WorkerState>,
    /// When it was claimed.
    pub held_since: Option<String>,
}

/// A time in which the sync failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncOutage {
    /// When it failed first.
    pub from: String,
    /// When it succeeded again; null if it still fails.
    pub until: Option<String>,
    /// The reason of the first failure.
    pub reason: Option<String>,
}

impl Catalog {
    /// Returns what happened in a period. The cost is linear in the beads, their notes and the events.
    pub fn recap(&self, sources: &RecapSources<'_>) -> Recap {
        let WorkSources { since_ms, now_ms, events, .. } = sources.work;
        let by_bead = self.events_by_bead(events);
        let tallies = self.tallies(&sources.work);
        let undelivered = self.undelivered(&by_bead, &tallies, &sources.work);
        let actors = workers_of(tallies, &sources.work);
        let mut recap = Recap {
            since: Timestamp::text_of(since_ms),
            until: Timestamp::text_of(now_ms),
            complete: sources.complete,
            closed: Vec::new(),
            created: Vec::new(),
            failed: self.given_up(&by_bead, since_ms),
            reclaimed: self.reclaimed(&by_bead, since_ms),
            conflicts: self.lost_writes(since_ms),
            waiting: self.waits_for_person(now_ms),
            done_twice: self.done_twice(&by_bead, since_ms),
            keystone: self.keystone_of(&actors),
            undelivered,
            sync_outages: sync_outages(sources),
            actors,
        };
        for (lineage, bead) in self.work() {
            self.recap_bead(lineage, bead, since_ms, &mut recap);
        }
        recap.closed.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        recap.created.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        recap.failed.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        recap
    }

    fn recap_bead(&self, lineage: &Lineage, bead: &Bead, since_ms: u64, recap: &mut Recap) {
        let (id, title) = (self.id_of(lineage), &bead.title.value);
        if lineage.at().ms() >= since_ms {
            let at = Timestamp::from(lineage.at()).to_string();
            recap.created.push(CreatedWork {
                id: id.clone(),
                title: title.clone(),
                by: lineage.by().clone(),
                at,
            });
        }
        let mark = &bead.status.mark;
        if bead.status.value.status != Status::Closed || mark.at().ms() < since_ms {
            return;
        }
        let reason = bead.status.value.closed_reason.non_empty().map(str::to_owned);
        let (by, at) = (mark.by().clone(), Timestamp::from(mark.at()).to_string());
        if is_done(bead) {
            let evidence = bead.notes_in_order().into_iter().filter(|note| is_kind(note, EVIDENCE));
            recap.closed.push(ClosedWork {
                id: id.clone(),
                title: title.clone(),
                by,
                at,
                took_ms: claim_to_close_ms(bead),
                reason,
                evidence: evidence.map(|note| note.content.to_string()).collect(),
            });
        } else {
            let (id, title) = (id.clone(), title.clone());
            recap.failed.push(FailedWork { how: "cancelled", id, title, by, holder: None, at, text: reason });
        }
    }

    /// Returns the beads that were reopened, or released before their leases had ended.
    fn given_up(&self, events: &BeadEvents<'_>, since_ms: u64) -> Vec<FailedWork> {
        let mut failed = Vec::new();
        for (lineage, events) in events {
            let Some(bead) = self.live_bead(lineage).filter(|bead| !bead.is_memory()) else { continue };
            for (at, event) in events.iter().filter(|(at, _)| *at >= since_ms) {
                let how = match event.kind {
                    EventKind::Reopened => "reopened",
                    EventKind::Released => "released",
                    _ => continue,
                };
                let Some(by) = event.by.clone() else { continue };
                let reason = bead.notes.values().find(|note| note.at.ms() == *at && note.author == by);
                // An agent that asks a person releases its claim, but has not given up.
                if reason.is_some_and(|note| note.is_question()) {
                    continue;
                }
                failed.push(FailedWork {
                    how,
                    id: self.id_of(lineage).clone(),
                    title: bead.title.value.clone(),
                    by,
                    holder: event.assignee.clone(),
                    at: event.at.clone(),
                    text: reason.map(|note| note.content.to_string()),
                });
            }
        }
        failed
    }

    fn reclaimed(&self, events: &BeadEvents<'_>, since_ms: u64) -> Vec<ReclaimedWork> {
        let mut reclaimed = Vec::new();
        for (lineage, events) in events {
            let Some(bead) = self.live_bead(lineage) else { continue };
            let expired =
                events.iter().filter(|(at, event)| *at >= since_ms && event.kind == EventKind::Expired);
            reclaimed.extend(expired.map(|(_, event)| ReclaimedWork {
                id: self.id_of(lineage).clone(),
                title: bead.title.value.clone(),
                holder: event.assignee.clone(),
                by: event.by.clone(),
                at: event.at.clone(),
            }));
        }
        reclaimed.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        reclaimed
    }

    fn lost_writes(&self, since_ms: u64) -> Vec<LostWrite> {
        let conflicts = self.state().conflicts().iter();
        let recent = conflicts.filter(|(_, one)| one.lost.at().ms().max(one.won.at().ms()) >= since_ms);
        let mut lost: Vec<LostWrite> = recent
            .filter_map(|(id, one)| {
                Some(LostWrite {
                    conflict: id.clone(),
                    id: self.id_of(&one.bead).clone(),
                    title: self.bead(&one.bead)?.title.value.clone(),
                    field: one.field,
                    by: one.lost.by().clone(),
                    won_by: one.won.by().clone(),
                    at: Timestamp::from(one.lost.at()).to_string(),
                    dismissed: one.dismissed.is_some(),
                })
            })
            .collect();
        lost.sort_by(|a, b| (&a.at, &a.conflict).cmp(&(&b.at, &b.conflict)));
        lost
    }

    fn keystone_of(&self, actors: &[Worker]) -> Option<Keystone> {
        let (lineage, waiting) = self.keystone()?;
        let bead = self.live_bead(&lineage)?;
        let holder = bead.claim.assignee.clone().filter(|_| bead.claim.is_taken());
        let state = |holder: &Actor| actors.iter().find(|one| one.actor == *holder).map(|one| one.state);
        Some(Keystone {
            id: self.id_of(&lineage).clone(),
            title: bead.title.value.clone(),
            waiting,
            holder_state: holder.as_ref().and_then(state),
            held_since: holder.as_ref().map(|_| Timestamp::from(bead.claim.mark.at()).to_string()),
            holder,
        })
    }

    /// Returns what no agent continues by itself, oldest first within each need.
    pub fn waits_for_person(&self, now_ms: u64) -> Vec<WaitsForPerson> {
        let mut waiting = Vec::new();
        for (lineage, bead) in self.work().filter(|(_, bead)| bead.status.value.status != Status::Closed) {
            waiting.extend(self.need_of(lineage, bead, now_ms));
        }
        for conflict in self.state().conflicts().values().filter(|conflict| conflict.dismissed.is_none()) {
            let Some(bead) = self.live_bead(&conflict.bead) else { continue };
            let field = conflict.field.name().to_owned();
            let (actor, at) = (conflict.lost.by(), conflict.lost.at().ms());
            waiting.push(self.need(PersonNeed::Conflict, &conflict.bead, bead, Some(actor), at, Some(field)));
        }
        for epic in self.epics().iter().filter(|epic| epic.eligible_for_close) {
            let Some(bead) = self.live_bead(&epic.lineage) else { continue };
            let at = bead.updated().at().ms();
            waiting.push(self.need(PersonNeed::CloseEpic, &epic.lineage, bead, None, at, None));
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
                    && self.readiness(lineage, now_ms) == Some(super::Readiness::Ready) =>
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

fn is_kind(note: &Note, kind: &str) -> bool {
    note.kind.as_ref().is_some_and(|known| known.as_str() == kind)
}

/// Returns the times in which the sync failed, if they reach into the period.
fn sync_outages(sources: &RecapSources<'_>) -> Vec<SyncOutage> {
    let since_ms = sources.work.since_ms;
    let mut outages: Vec<SyncOutage> = Vec::new();
    for event in sources.work.events {
        let is_open = outages.last().is_some_and(|last| last.until.is_none());
        match event.kind {
            EventKind::SyncFailed if !is_open => {
                let (from, reason) = (event.at.clone(), event.text.clone());
                outages.push(SyncOutage { from, until: None, reason });
            }
            EventKind::SyncRecovered if is_open => end_outage(&mut outages, event),
            _ => {}
        }
    }
    let is_open = outages.last().is_some_and(|last| last.until.is_none());
    if let Some((from_ms, reason)) = sources.sync_failing.filter(|_| !is_open) {
        let from = Timestamp::text_of(from_ms);
        outages.push(SyncOutage { from, until: None, reason: Some(reason.to_owned()) });
    }
    let since = Timestamp::text_of(since_ms);
    outages.retain(|outage| outage.until.as_ref().is_none_or(|until| *until >= since));
    outages
}

fn end_outage(outages: &mut [SyncOutage], event: &Event) {
    if let Some(last) = outages.last_mut() {
        last.until = Some(event.at.clone());
    }
}
