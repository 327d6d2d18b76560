//! What happened in a period: the answer to "what did the agents do last night?".

mod contents;

pub use contents::{
    ClosedWork, CreatedWork, FailedWork, Keystone, LostWrite, Recap, ReclaimedWork, SyncOutage,
};

use std::collections::BTreeSet;

use super::lost_work::BeadEvents;
use super::waits_for_person::is_kind;
use super::workers::{WorkSources, Worker, claim_to_close_ms, event_ms, is_done, workers_of};
use crate::{Actor, Bead, BeadId, Catalog, EVIDENCE, Event, EventKind, Lineage, Status, Timestamp};

/// A change that was made this long before a sync should have arrived with it.
const LATE_MS: u64 = 5 * 60 * 1_000;

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
}

/// Returns the times in which this machine or another was cut off from the remote, if they reach into the
/// period.
fn sync_outages(sources: &RecapSources<'_>) -> Vec<SyncOutage> {
    let since_ms = sources.work.since_ms;
    let mut outages: Vec<SyncOutage> = Vec::new();
    let actors = Vec::new;
    for event in sources.work.events {
        let is_open = outages.last().is_some_and(|last| last.until.is_none());
        match event.kind {
            EventKind::SyncFailed if !is_open => {
                let (from, reason) = (event.at.clone(), event.text.clone());
                outages.push(SyncOutage { actors: actors(), from, until: None, reason });
            }
            EventKind::SyncRecovered if is_open => end_outage(&mut outages, event),
            _ => {}
        }
    }
    let is_open = outages.last().is_some_and(|last| last.until.is_none());
    if let Some((from_ms, reason)) = sources.sync_failing.filter(|_| !is_open) {
        let from = Timestamp::text_of(from_ms);
        outages.push(SyncOutage { actors: actors(), from, until: None, reason: Some(reason.to_owned()) });
    }
    outages.extend(late_arrivals(sources.work.events));
    outages.sort_by(|a, b| a.from.cmp(&b.from));
    let since = Timestamp::text_of(since_ms);
    outages.retain(|outage| outage.until.as_ref().is_none_or(|until| *until >= since));
    outages
}

/// Returns when other machines were cut off. A change that arrives with one sync, although it was made long
/// before the sync before that, could not be pushed in time. Events are in the order of arrival. New beads are
/// left out, because an import creates them with their old times.
fn late_arrivals(events: &[Event]) -> Vec<SyncOutage> {
    let mut outages = Vec::new();
    let mut last_sync_ms = 0;
    let mut late: BTreeSet<(u64, &Actor)> = BTreeSet::new();
    let mut created: BTreeSet<Option<&BeadId>> = BTreeSet::new();
    for event in events {
        let Some(at_ms) = event_ms(event) else { continue };
        match (&event.by, event.kind) {
            (_, EventKind::Synced) => {
                last_sync_ms = at_ms;
                created.clear();
                let late = std::mem::take(&mut late);
                let Some((from_ms, _)) = late.first() else { continue };
                let actors: BTreeSet<&Actor> = late.iter().map(|(_, actor)| *actor).collect();
                outages.push(SyncOutage {
                    actors: actors.into_iter().cloned().collect(),
                    from: Timestamp::text_of(*from_ms),
                    until: Some(event.at.clone()),
                    reason: None,
                });
            }
            (_, EventKind::Created) => {
                created.insert(event.id.as_ref());
            }
            (_, EventKind::Conflict) => {}
            (Some(by), _) if at_ms + LATE_MS < last_sync_ms && !created.contains(&event.id.as_ref()) => {
                late.insert((at_ms, by));
            }
            _ => {}
        }
    }
    outages
}

fn end_outage(outages: &mut [SyncOutage], event: &Event) {
    if let Some(last) = outages.last_mut() {
        last.until = Some(event.at.clone());
    }
}
