//! Who works: what each actor holds, its last sign of life, and how much it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Actor, Bead, BeadId, Catalog, Event, EventKind, Field, Lineage, Mark, Status, Timestamp, Title};

/// An actor that was heard from within this time is not quiet.
const QUIET_MS: u64 = 5 * 60 * 1000;

/// An actor that is heard from but wrote nothing for this long hangs.
const HUNG_MS: u64 = 30 * 60 * 1000;

/// What is known besides the beads about the work in a period.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkSources<'a> {
    /// The beginning of the period.
    pub since_ms: u64,
    /// The end of the period: now.
    pub now_ms: u64,
    /// The events of the local log, in its order.
    pub events: &'a [Event],
    /// What is known from events that are not listed.
    pub signs: Option<&'a Signs>,
    /// The sessions on this machine that hold claims.
    pub sessions: &'a [SessionSign],
}

/// When actors were last heard from, according to events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signs(BTreeMap<Actor, Sign>);

/// When an actor was last heard from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sign {
    seen_ms: u64,
    /// Its last write that was not only a renewal.
    wrote_ms: u64,
}

impl Signs {
    /// Takes in an event. The order of events does not matter.
    pub fn note(&mut self, event: &Event) {
        let Some((by, sign)) = sign_of(event) else { return };
        match self.0.get_mut(by) {
            Some(known) => *known = known.or(sign),
            None => drop(self.0.insert(by.clone(), sign)),
        }
    }
}

impl Sign {
    /// Returns the later times of both.
    fn or(self, other: Self) -> Self {
        Self { seen_ms: self.seen_ms.max(other.seen_ms), wrote_ms: self.wrote_ms.max(other.wrote_ms) }
    }
}

/// Returns who caused an event, and the sign of life in it. A conflict is found by another actor than the one
/// whose write it is about.
fn sign_of(event: &Event) -> Option<(&Actor, Sign)> {
    let by = event.by.as_ref().filter(|_| event.kind != EventKind::Conflict)?;
    let seen_ms = event_ms(event)?;
    Some((by, Sign { seen_ms, wrote_ms: if is_renewal(event) { 0 } else { seen_ms } }))
}

/// When the session that made a claim was last heard from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSign {
    /// The claimed bead.
    pub lineage: Lineage,
    /// The session.
    pub session: String,
    /// The time of its last call.
    pub seen_ms: u64,
    /// Whether it has ended, or its process is gone.
    pub gone: bool,
}

/// Whether an actor that holds beads still works on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
pub enum WorkerState {
    /// Its sessions are gone, or its leases ended without a sign of life.
    Dead,
    /// It gives signs of life, but writes nothing.
    Hung,
    /// It has given no sign of life for a few minutes.
    Quiet,
    /// It gives signs of life and writes.
    Working,
    /// It holds nothing.
    Idle,
}

impl WorkerState {
    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Hung => "hung",
            Self::Quiet => "quiet",
            Self::Working => "working",
            Self::Idle => "idle",
        }
    }
}

/// An actor, what it holds and what it did in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worker {
    /// The actor.
    pub actor: Actor,
    /// `dead`: its sessions are gone, or its leases ended without a sign of life. `hung`: it is heard from
    /// but wrote nothing for 30 minutes. `quiet`: not heard from for 5 minutes. `idle`: it holds nothing.
    pub state: WorkerState,
    /// Its last sign of life: a write, a renewal or a call of its session.
    pub last_seen: Option<String>,
    /// Its last write that was not only a renewal.
    pub last_write: Option<String>,
    /// The beads it has claimed.
    pub holds: Vec<HeldBead>,
    /// Its sessions on this machine that hold claims.
    pub sessions: Vec<WorkerSession>,
    /// Beads it closed in the period.
    pub closed: usize,
    /// Beads it created in the period.
    pub created: usize,
    /// Notes it wrote in the period.
    pub notes: usize,
    /// The time from claim to close of the beads it closed.
    pub busy_ms: u64,
}

/// A bead that an actor has claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldBead {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The holder.
    pub holder: Actor,
    /// When it was claimed.
    pub since: String,
    /// When the lease ends.
    pub expires: Option<String>,
    /// Whether the lease has ended.
    pub expired: bool,
    /// Whether it is only offered to the actor by a handover.
    pub offered: bool,
}

/// A session on this machine that holds claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerSession {
    /// The session.
    pub session: String,
    /// The time of its last call.
    pub last_seen: String,
    /// Whether it has ended, or its process is gone.
    pub gone: bool,
}

/// What is known about one actor.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub seen_ms: u64,
    wrote_ms: u64,
    closed: usize,
    created: usize,
    notes: usize,
    busy_ms: u64,
    holds: Vec<HeldBead>,
    sessions: Vec<(WorkerSession, u64)>,
    /// Held beads whose sessions are gone.
    orphaned: usize,
}

impl Tally {
    fn wrote(&mut self, ms: u64) {
        self.wrote_ms = self.wrote_ms.max(ms);
        self.seen_ms = self.seen_ms.max(ms);
    }

    fn state(&self, now_ms: u64) -> WorkerState {
        let held: Vec<_> = self.holds.iter().filter(|held| !held.offered).collect();
        let heard = now_ms.saturating_sub(self.seen_ms) < QUIET_MS;
        match () {
            () if held.is_empty() => WorkerState::Idle,
            () if self.orphaned == held.len() => WorkerState::Dead,
            () if !heard && held.iter().all(|held| held.expired) => WorkerState::Dead,
            () if !heard => WorkerState::Quiet,
            () if now_ms.saturating_sub(self.wrote_ms) >= HUNG_MS => WorkerState::Hung,
            () => WorkerState::Working,
        }
    }

    fn worker(self, actor: &Actor, now_ms: u64) -> Worker {
        let time = |ms: u64| (ms > 0).then(|| Timestamp::text_of(ms));
        Worker {
            state: self.state(now_ms),
            actor: actor.clone(),
            last_seen: time(self.seen_ms),
            last_write: time(self.wrote_ms),
            holds: self.holds,
            sessions: self.sessions.into_iter().map(|(session, _)| session).collect(),
            closed: self.closed,
            created: self.created,
            notes: self.notes,
            busy_ms: self.busy_ms,
        }
    }
}

impl Catalog {
    /// Returns the actors that hold beads or were heard from in the period: those that need attention first,
    /// then by the number of closed beads.
    pub fn workers(&self, sources: &WorkSources<'_>) -> Vec<Worker> {
        workers_of(self.tallies(sources), sources)
    }

    /// Returns the beads that are claimed, with their holders, oldest claim first. Offers count.
    pub fn held_beads(&self, now_ms: u64) -> Vec<HeldBead> {
        let keys = self.leases().values().flatten();
        let mut held: Vec<HeldBead> = keys
            .filter_map(|(_, _, lineage)| self.held_bead(lineage, self.live_bead(lineage)?, now_ms))
            .collect();
        held.sort_by(|a, b| (&a.since, &a.id).cmp(&(&b.since, &b.id)));
        held
    }

    fn held_bead(&self, lineage: &Lineage, bead: &Bead, now_ms: u64) -> Option<HeldBead> {
        let is_held = bead.status() == Status::InProgress && bead.claim.is_taken();
        Some(HeldBead {
            id: self.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            holder: bead.claim.assignee.clone().filter(|_| is_held)?,
            since: Timestamp::text_of(bead.claim.mark.at().ms()),
            expires: bead.claim.expires.map(|end| end.to_string()),
            expired: bead.claim.expired(now_ms),
            offered: bead.is_offer(),
        })
    }

    pub(super) fn tallies<'a>(&'a self, sources: &WorkSources<'a>) -> BTreeMap<&'a Actor, Tally> {
        let mut tallies: BTreeMap<&Actor, Tally> = BTreeMap::new();
        for (lineage, bead) in self.state().beads().iter().filter(|(_, bead)| !bead.is_hollow()) {
            self.tally_bead(lineage, bead, sources, &mut tallies);
        }
        let signs = sources.signs.into_iter().flat_map(|signs| signs.0.iter().map(|(by, sign)| (by, *sign)));
        for (by, sign) in sources.events.iter().filter_map(sign_of).chain(signs) {
            let tally = tallies.entry(by).or_default();
            tally.wrote(sign.wrote_ms.min(sources.now_ms));
            tally.seen_ms = tally.seen_ms.max(sign.seen_ms.min(sources.now_ms));
        }
        for sign in sources.sessions {
            let Some(bead) = self.live_bead(&sign.lineage) else { continue };
            let Some(holder) = bead.claim.assignee.as_ref() else { continue };
            let tally = tallies.entry(holder).or_default();
            tally.seen_ms = tally.seen_ms.max(sign.seen_ms);
            tally.orphaned += usize::from(sign.gone && bead.status() == Status::InProgress);
            if !tally.sessions.iter().any(|(known, _)| known.session == sign.session) {
                let last_seen = Timestamp::text_of(sign.seen_ms);
                let session = WorkerSession { session: sign.session.clone(), last_seen, gone: sign.gone };
                tally.sessions.push((session, sign.seen_ms));
            }
        }
        tallies
    }

    fn tally_bead<'a>(
        &'a self,
        lineage: &'a Lineage,
        bead: &'a Bead,
        sources: &WorkSources<'_>,
        tallies: &mut BTreeMap<&'a Actor, Tally>,
    ) {
        let WorkSources { since_ms, now_ms, .. } = *sources;
        let ms = |mark: &Mark| mark.at().ms().min(now_ms);
        // The registers that one write touched have the same mark.
        let mut last = None;
        for field in Field::ALL.iter().filter(|field| **field != Field::AssigneeExpires) {
            let mark = bead.mark(*field);
            if last.replace(mark) != Some(mark) {
                tallies.entry(mark.by()).or_default().wrote(ms(mark));
            }
        }
        let renewed = tallies.entry(bead.claim.expires_mark.by()).or_default();
        renewed.seen_ms = renewed.seen_ms.max(ms(&bead.claim.expires_mark));
        for note in bead.notes.values() {
            let tally = tallies.entry(&note.author).or_default();
            tally.wrote(note.at.ms().min(now_ms));
            tally.notes += usize::from(note.at.ms() >= since_ms);
        }
        if let Some(deletion) = &bead.deletion {
            tallies.entry(deletion.mark.by()).or_default().wrote(ms(&deletion.mark));
            return;
        }
        if bead.is_memory() {
            return;
        }
        let creator = tallies.entry(lineage.by()).or_default();
        creator.created += usize::from(lineage.at().ms() >= since_ms);
        if is_done(bead) && bead.status.mark.at().ms() >= since_ms {
            let closer = tallies.entry(bead.status.mark.by()).or_default();
            closer.closed += 1;
            closer.busy_ms += claim_to_close_ms(bead).unwrap_or(0);
        }
        if let (Some(holder), Some(held)) = (&bead.claim.assignee, self.held_bead(lineage, bead, now_ms)) {
            tallies.entry(holder).or_default().holds.push(held);
        }
    }
}

/// Returns the actors that matter for a period, in the order of a report.
pub(super) fn workers_of(tallies: BTreeMap<&Actor, Tally>, sources: &WorkSources<'_>) -> Vec<Worker> {
    let is_recent = |tally: &Tally| tally.seen_ms >= sources.since_ms || !tally.holds.is_empty();
    let recent = tallies.into_iter().filter(|(_, tally)| is_recent(tally));
    let mut workers: Vec<Worker> = recent.map(|(actor, tally)| tally.worker(actor, sources.now_ms)).collect();
    workers.sort_by(|a, b| (a.state, b.closed, &a.actor).cmp(&(b.state, a.closed, &b.actor)));
    workers
}

/// Returns whether a bead was closed as done.
pub(super) fn is_done(bead: &Bead) -> bool {
    bead.status.value.status == Status::Closed && !bead.is_cancelled()
}

/// Returns the time from the last claim of a bead to its close.
pub(super) fn claim_to_close_ms(bead: &Bead) -> Option<u64> {
    let (claimed, closed) = (bead.claim.mark.at(), bead.status.mark.at());
    (bead.claim.is_taken() && claimed < closed).then(|| closed.ms().saturating_sub(claimed.ms()))
}

/// Returns the time of an event.
pub(super) fn event_ms(event: &Event) -> Option<u64> {
    event.at.parse::<Timestamp>().ok().map(Timestamp::ms)
}

fn is_renewal(event: &Event) -> bool {
    event.kind == EventKind::Updated
        && matches!(&event.fields[..], [field] if field == Field::AssigneeExpires.name())
}
