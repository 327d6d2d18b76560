//! Work that was lost: done twice, or continued because a message did not arrive.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::workers::{Tally, WorkSources, event_ms};
use crate::op::HANDOVER;
use crate::{Actor, Bead, BeadId, Catalog, Event, EventKind, Field, Lineage, Note, Status, Timestamp, Title};

/// A bead that more than one actor worked on without knowing of each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoneTwice {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actors that worked on it, the one whose work was lost first.
    pub by: Vec<Actor>,
    /// `closed_twice`, `claimed_twice` (two claims at a time) or `lease_ended` (another actor started again).
    pub how: &'static str,
    /// How long the lost work took.
    pub lost_ms: Option<u64>,
    /// The branches with the lost work, which can be thrown away.
    pub branches: Vec<String>,
    /// The commits with the lost work, as far as evidence names them.
    pub commits: Vec<String>,
}

/// A cancellation or a handover that did not reach the actor it was meant for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Undelivered {
    /// `cancellation` or `handover`.
    pub kind: &'static str,
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The actor it was meant for.
    pub to: String,
    /// The actor that cancelled or handed over.
    pub by: Actor,
    /// When.
    pub at: String,
    /// `offer_expired`, `taken_by_other`, `kept_working` or `not_heard_from`.
    pub why: &'static str,
    /// `kept_working`: how long the holder went on.
    pub lost_ms: Option<u64>,
}

/// The events of the beads, with their times.
pub(super) type BeadEvents<'a> = BTreeMap<&'a Lineage, Vec<(u64, &'a Event)>>;

/// A claim that ended without a result.
#[derive(Debug)]
struct Lapsed<'a> {
    holder: &'a Actor,
    start_ms: u64,
    end_ms: u64,
}

impl Catalog {
    /// Groups the events by bead, oldest first.
    pub(super) fn events_by_bead<'a>(&'a self, events: &'a [Event]) -> BeadEvents<'a> {
        let mut by_bead: BeadEvents<'a> = BTreeMap::new();
        for event in events {
            let (Some(id), Some(at)) = (&event.id, event_ms(event)) else { continue };
            if let Ok(lineage) = self.resolve_any(id.as_str()) {
                by_bead.entry(lineage).or_default().push((at, event));
            }
        }
        by_bead.values_mut().for_each(|events| events.sort_by_key(|(at, _)| *at));
        by_bead
    }

    /// Returns the beads that were worked on twice in the period, most lost time first.
    pub(super) fn done_twice(&self, events: &BeadEvents<'_>, since_ms: u64) -> Vec<DoneTwice> {
        let mut found: BTreeMap<&Lineage, DoneTwice> = BTreeMap::new();
        for (lineage, events) in events {
            for (lapsed, next) in
                taken_up_again(events).into_iter().filter(|(lapsed, _)| lapsed.end_ms >= since_ms)
            {
                let lost_ms = Some(lapsed.end_ms.saturating_sub(lapsed.start_ms));
                self.add_twice(&mut found, lineage, "lease_ended", &[lapsed.holder, next], lost_ms);
            }
        }
        for conflict in self.state().conflicts().values() {
            let (lost, won) = (&conflict.lost, &conflict.won);
            if lost.at().ms().max(won.at().ms()) < since_ms || lost.by() == won.by() {
                continue;
            }
            let Some(bead) = self.live_bead(&conflict.bead) else { continue };
            let how = match conflict.field {
                Field::Assignee if conflict.value.is_string() => "claimed_twice",
                Field::Status if is_closed(&conflict.value) && bead.status.value.status == Status::Closed => {
                    "closed_twice"
                }
                _ => continue,
            };
            let own = events.get(&conflict.bead).map(Vec::as_slice).unwrap_or_default();
            let lost_ms = lost_time(bead, conflict.field, lost.by(), lost.at().ms(), own);
            self.add_twice(&mut found, &conflict.bead, how, &[lost.by(), won.by()], lost_ms);
        }
        for (lineage, one) in &mut found {
            if let Some(bead) = self.live_bead(lineage) {
                let lost = self.lost_branches(lineage, bead, &one.by);
                (one.branches, one.commits) = (lost.branches, lost.commits);
            }
        }
        let mut found: Vec<DoneTwice> = found.into_values().collect();
        found.sort_by(|a, b| (b.lost_ms, &a.id).cmp(&(a.lost_ms, &b.id)));
        found
    }

    /// Adds a finding. Several findings about one bead become one.
    fn add_twice<'a>(
        &self,
        found: &mut BTreeMap<&'a Lineage, DoneTwice>,
        lineage: &'a Lineage,
        how: &'static str,
        by: &[&Actor],
        lost_ms: Option<u64>,
    ) {
        let Some(bead) = self.live_bead(lineage) else { return };
        let entry = found.entry(lineage).or_insert_with(|| DoneTwice {
            id: self.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            by: Vec::new(),
            how,
            lost_ms: None,
            branches: Vec::new(),
            commits: Vec::new(),
        });
        let rank = |how| ["lease_ended", "claimed_twice", "closed_twice"].iter().position(|one| *one == how);
        if rank(how) > rank(entry.how) {
            entry.how = how;
        }
        entry.lost_ms = entry.lost_ms.max(lost_ms);
        for actor in by {
            if !entry.by.contains(actor) {
                entry.by.push((*actor).clone());
            }
        }
    }

    /// Returns the cancellations and handovers of the period that did not arrive.
    pub(super) fn undelivered(
        &self,
        events: &BeadEvents<'_>,
        tallies: &BTreeMap<&Actor, Tally>,
        sources: &WorkSources<'_>,
    ) -> Vec<Undelivered> {
        let mut found = Vec::new();
        for (lineage, bead) in self.work() {
            let own = events.get(lineage).map(Vec::as_slice).unwrap_or_default();
            found.extend(self.undelivered_cancellation(lineage, bead, tallies, sources.since_ms));
            for note in bead.notes.values().filter(|note| is_handover(note)) {
                let was_offered = note.at == bead.claim.mark.at() && bead.is_offer();
                if note.at.ms() >= sources.since_ms || was_offered && bead.status() != Status::Closed {
                    found.extend(self.undelivered_handover(lineage, bead, note, own, sources.now_ms));
                }
            }
        }
        found.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        found
    }

    /// Returns the cancellation of a bead, if its holder went on working or was not heard from since.
    fn undelivered_cancellation(
        &self,
        lineage: &Lineage,
        bead: &Bead,
        tallies: &BTreeMap<&Actor, Tally>,
        since_ms: u64,
    ) -> Option<Undelivered> {
        let mark = &bead.status.mark;
        let at = mark.at();
        let is_held = bead.is_cancelled() && at.ms() >= since_ms && bead.claim.is_taken();
        let holder = bead.claim.assignee.as_ref().filter(|holder| is_held && *holder != mark.by())?;
        let renewal = &bead.claim.expires_mark;
        if bead.claim.mark.at() > at || (bead.claim.expired(at.ms()) && renewal.at() < at) {
            return None;
        }
        let notes = bead.notes.values().filter(|note| note.author == *holder).map(|note| note.at);
        let renewals = Some(renewal.at()).filter(|_| renewal.by() == holder);
        let worked = notes.chain(renewals).filter(|sign| *sign > at).max();
        let seen = tallies.get(holder).map_or(0, |tally| tally.seen_ms);
        let (why, lost_ms) = match worked {
            Some(last) => ("kept_working", Some(last.ms().saturating_sub(at.ms()))),
            None if seen <= at.ms() => ("not_heard_from", None),
            None => return None,
        };
        Some(Undelivered {
            kind: "cancellation",
            id: self.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            to: holder.to_string(),
            by: mark.by().clone(),
            at: Timestamp::from(at).to_string(),
            why,
            lost_ms,
        })
    }

    /// Returns a handover, if the actor it was meant for neither took the bead nor can still take it.
    fn undelivered_handover(
        &self,
        lineage: &Lineage,
        bead: &Bead,
        note: &Note,
        events: &[(u64, &Event)],
        now_ms: u64,
    ) -> Option<Undelivered> {
        let to = note.data.get("to").and_then(|to| to.as_str())?;
        let is_target = |actor: Option<&Actor>| actor.is_some_and(|actor| actor.as_str() == to);
        let claims =
            events.iter().filter(|(at, event)| event.kind == EventKind::Claimed && *at >= note.at.ms());
        let accepted = claims.clone().any(|(_, event)| is_target(event.assignee.as_ref()));
        let is_open_offer = bead.claim.mark.at() == note.at;
        let wrote = bead.notes.values().any(|other| other.at > note.at && other.author.as_str() == to)
            || (!is_open_offer && is_target(bead.claim.assignee.as_ref()))
            || (bead.status.mark.at() > note.at && is_target(Some(bead.status.mark.by())));
        let why = match () {
            () if accepted || wrote => return None,
            () if is_open_offer && bead.status.value.status == Status::Closed => return None,
            () if is_open_offer && !bead.claim.expired(now_ms) => return None,
            () if is_open_offer => "offer_expired",
            // Handed on, or given back by its giver, before the other actor asked for work.
            () if bead.claim.assignee.is_none() => "offer_expired",
            () => "taken_by_other",
        };
        Some(Undelivered {
            kind: "handover",
            id: self.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            to: to.to_owned(),
            by: note.author.clone(),
            at: Timestamp::from(note.at).to_string(),
            why,
            lost_ms: None,
        })
    }
}

/// Returns the claims that another actor's claim followed, although they were neither released, handed over
/// nor finished, with that actor.
fn taken_up_again<'a>(events: &[(u64, &'a Event)]) -> Vec<(Lapsed<'a>, &'a Actor)> {
    let mut found = Vec::new();
    let mut current: Option<Lapsed<'a>> = None;
    for (at, event) in events {
        match (event.kind, &event.assignee) {
            (EventKind::Claimed, Some(holder)) => {
                let lapsed = current.take().filter(|lapsed| lapsed.holder != holder);
                let lapsed = lapsed.map(|lapsed| Lapsed { end_ms: lapsed.end_ms.min(*at), ..lapsed });
                found.extend(lapsed.map(|lapsed| (lapsed, holder)));
                current = Some(Lapsed { holder, start_ms: *at, end_ms: u64::MAX });
            }
            (EventKind::Expired, _) => {
                if let Some(lapsed) = &mut current {
                    lapsed.end_ms = lapsed.end_ms.min(*at);
                }
            }
            (
                EventKind::Released
                | EventKind::HandedOver
                | EventKind::Closed
                | EventKind::Cancelled
                | EventKind::Reopened
                | EventKind::Deleted,
                _,
            ) => current = None,
            _ => {}
        }
    }
    found
}

/// Returns how long the loser of a conflict worked: from its claim to its close, or to its last write here.
fn lost_time(
    bead: &Bead,
    field: Field,
    loser: &Actor,
    lost_ms: u64,
    events: &[(u64, &Event)],
) -> Option<u64> {
    if field == Field::Status {
        let is_claim =
            |event: &Event| event.kind == EventKind::Claimed && event.assignee.as_ref() == Some(loser);
        let claims = events.iter().filter(|(at, event)| *at <= lost_ms && is_claim(event));
        return claims.map(|(at, _)| lost_ms.saturating_sub(*at)).min();
    }
    let notes = bead.notes.values().filter(|note| note.author == *loser).map(|note| note.at.ms());
    // The conflict event is when the loser could learn of it.
    let learned =
        events.iter().filter(|(_, event)| event.kind == EventKind::Conflict).map(|(at, _)| *at).min();
    let end = notes.chain(learned).filter(|at| *at >= lost_ms).max()?;
    Some(end - lost_ms)
}

fn is_handover(note: &Arc<Note>) -> bool {
    note.kind.as_ref().is_some_and(|kind| kind.as_str() == HANDOVER)
}

/// Returns whether the JSON of a status register is a close.
fn is_closed(value: &serde_json::Value) -> bool {
    value.as_str().or_else(|| value.get("status")?.as_str()) == Some(Status::Closed.as_str())
}
