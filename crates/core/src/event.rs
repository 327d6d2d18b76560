//! Events: what happened to beads, derived by comparing them before and after a change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Actor, Bead, BeadId, Catalog, Claim, ConflictId, Delta, EdgeKey, EdgeKind, Field, Lineage, Mark, Note,
    Result, SharedBead, Stamp, State, Status, Timestamp, Title, Touched,
};

/// What an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A bead was created.
    Created,
    /// A bead was claimed.
    Claimed,
    /// Fields or dependencies of a bead were changed.
    Updated,
    /// A plain note was added.
    Note,
    /// A bead was closed as done.
    Closed,
    /// A bead was closed as cancelled.
    Cancelled,
    /// A claim was offered to another actor; `assignee` may accept it.
    HandedOver,
    /// A note of the kind `question` was added.
    Asked,
    /// A note of the kind `answer` was added.
    Answered,
    /// A closed bead was reopened.
    Reopened,
    /// A claim was released or taken away; `assignee` held it.
    Released,
    /// A claim was released because its lease had ended; `assignee` held it.
    Expired,
    /// The last open blocker of a bead was closed or removed.
    Unblocked,
    /// A bead was deleted.
    Deleted,
    /// A closed bead was archived.
    Archived,
    /// Changes were pushed to or pulled from the remote.
    Synced,
    /// A sync failed after one that succeeded; `text` is the reason.
    SyncFailed,
    /// A sync succeeded after one that failed.
    SyncRecovered,
    /// A write lost to a concurrent one. If the field is `assignee`, a claim was lost.
    Conflict,
}

impl EventKind {
    /// Returns the name of the event in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Claimed => "claimed",
            Self::Updated => "updated",
            Self::Note => "note",
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
            Self::HandedOver => "handed_over",
            Self::Asked => "asked",
            Self::Answered => "answered",
            Self::Reopened => "reopened",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Unblocked => "unblocked",
            Self::Deleted => "deleted",
            Self::Archived => "archived",
            Self::Synced => "synced",
            Self::SyncFailed => "sync_failed",
            Self::SyncRecovered => "sync_recovered",
            Self::Conflict => "conflict",
        }
    }
}

/// Something that happened. Ids and titles are those at the time of the event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// The time, in RFC 3339.
    pub at: String,
    /// The bead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<BeadId>,
    /// The title of the bead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// The actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// `updated`: the changed fields. `conflict`: the field that both sides wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// `claimed`: the holder. `released` and `expired`: the former holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    /// `claimed`: the fence, `ms.counter`. `released` and `expired`: the fence of the ended claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
    /// `closed` and `deleted`: the reason. `note`: the text. `synced`: the remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `conflict`: the id of the conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub conflict: Option<ConflictId>,
    /// `conflict`: the actor whose write won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub won_by: Option<Actor>,
    /// `synced`: whether changes were pulled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pulled: bool,
    /// `synced`: whether changes were pushed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushed: bool,
}

/// The maximum length of a text in an event. The full text is in the bead.
const MAX_EVENT_TEXT: usize = 1_000;

impl Event {
    /// Returns an event with only a kind and a time.
    pub fn new(kind: EventKind, at_ms: u64) -> Self {
        let at = Timestamp::text_of(at_ms);
        Self {
            kind,
            at,
            id: None,
            title: None,
            by: None,
            fields: Vec::new(),
            assignee: None,
            fence: None,
            text: None,
            conflict: None,
            won_by: None,
            pulled: false,
            pushed: false,
        }
    }

    fn by(mut self, mark: &Mark) -> Self {
        self.by = Some(mark.by().clone());
        self
    }

    fn with_claim(mut self, claim: &Claim) -> Self {
        self.assignee.clone_from(&claim.assignee);
        self.fence = claim.fence().map(|fence| fence.to_string());
        self
    }

    fn text(mut self, text: Option<&str>) -> Self {
        self.text = text.map(|text| text.chars().take(MAX_EVENT_TEXT).collect());
        self
    }
}

/// The parts of the state that are about to change.
#[derive(Debug, Default)]
struct Before {
    beads: BTreeMap<Lineage, Option<SharedBead>>,
    edges: BTreeMap<EdgeKey, bool>,
    blocked: BTreeSet<Lineage>,
    /// The known conflicts, if there may be new ones.
    conflicts: Option<BTreeSet<ConflictId>>,
}

impl Catalog {
    /// Like [`join_delta`](Self::join_delta), and returns what happened.
    pub fn join_delta_with_events(&mut self, delta: &Delta, at_ms: u64) -> Result<Vec<Event>> {
        let touched = Touched {
            beads: delta.beads.keys().cloned().collect(),
            edges: delta.edges.keys().cloned().collect(),
        };
        let mut before = self.before(&touched);
        if !delta.conflicts.is_empty() {
            before.conflicts = Some(self.state().conflicts().keys().cloned().collect());
        }
        self.join_delta(delta)?;
        Ok(self.events_after(&before, at_ms))
    }

    /// Like [`join`](Self::join), and returns what changed here.
    pub fn join_with_events(&mut self, other: &State, at_ms: u64) -> Vec<Event> {
        let touched = self.state().clone().join(other);
        let known = self.state().conflicts().keys().cloned().collect();
        let before = Before { conflicts: Some(known), ..self.before(&touched) };
        self.join(other);
        self.events_after(&before, at_ms)
    }

    fn before(&self, touched: &Touched) -> Before {
        let waiting = touched.beads.iter().flat_map(|lineage| self.sources(lineage, EdgeKind::Blocks));
        let ends = touched.edges.iter().filter_map(|key| key.from.lineage());
        let candidates = waiting.chain(ends).chain(&touched.beads);
        Before {
            beads: touched
                .beads
                .iter()
                .map(|lineage| (lineage.clone(), self.bead(lineage).cloned()))
                .collect(),
            edges: touched.edges.iter().map(|key| (key.clone(), self.has_edge(key))).collect(),
            blocked: candidates.filter(|lineage| self.is_blocked(lineage)).cloned().collect(),
            conflicts: None,
        }
    }

    fn has_edge(&self, key: &EdgeKey) -> bool {
        self.state().edge(key).is_some_and(|edge| !edge.deleted)
    }

    fn is_blocked(&self, lineage: &Lineage) -> bool {
        self.is_unfinished(lineage) && self.open_blockers(lineage).next().is_some()
    }

    fn events_after(&self, before: &Before, at_ms: u64) -> Vec<Event> {
        let mut events = Vec::new();
        let mut links = self.changed_links(before);
        for (lineage, old) in &before.beads {
            let Some(new) = self.bead(lineage) else { continue };
            if self.archive_events(lineage, old.as_ref(), new, at_ms, &mut events) {
                continue;
            }
            let fields = links.remove(lineage).unwrap_or_default();
            self.bead_events(lineage, old.as_deref(), new, fields, &mut events);
        }
        for (lineage, fields) in links {
            events.push(Event { fields, ..self.about(EventKind::Updated, &lineage, at_ms) });
        }
        for lineage in &before.blocked {
            if self.is_unfinished(lineage) && !self.is_blocked(lineage) {
                events.push(self.about(EventKind::Unblocked, lineage, at_ms));
            }
        }
        if let Some(known) = &before.conflicts {
            events.extend(self.new_conflicts(known, at_ms));
        }
        events
    }

    /// Adds the event of a bead that was archived or has come back from the archive. Returns whether there is
    /// nothing else to tell: a hollow bead does not show what changed.
    fn archive_events(
        &self,
        lineage: &Lineage,
        old: Option<&SharedBead>,
        new: &SharedBead,
        at_ms: u64,
        events: &mut Vec<Event>,
    ) -> bool {
        let was_archived = old.is_some_and(SharedBead::is_archived);
        if new.is_archived() {
            if !was_archived && old.is_some_and(|old| !old.is_deleted()) {
                events.push(self.about(EventKind::Archived, lineage, at_ms));
            }
            return true;
        }
        if was_archived && !new.is_deleted() {
            let fields = vec!["archived".to_owned()];
            events
                .push(Event { fields, ..self.about(EventKind::Updated, lineage, at_ms).by(&new.updated()) });
        }
        was_archived && old.is_some_and(SharedBead::is_hollow)
    }

    fn new_conflicts(&self, known: &BTreeSet<ConflictId>, at_ms: u64) -> impl Iterator<Item = Event> {
        let conflicts = self.state().conflicts().iter();
        let new = conflicts.filter(|(id, conflict)| !known.contains(*id) && conflict.dismissed.is_none());
        new.map(move |(id, conflict)| Event {
            fields: vec![conflict.field.name().to_owned()],
            conflict: Some(id.clone()),
            won_by: Some(conflict.won.by().clone()),
            ..self.about(EventKind::Conflict, &conflict.bead, at_ms).by(&conflict.lost)
        })
    }

    /// Returns the beads whose dependencies or parent changed.
    fn changed_links(&self, before: &Before) -> BTreeMap<Lineage, Vec<String>> {
        let mut links: BTreeMap<Lineage, Vec<String>> = BTreeMap::new();
        for (key, there) in &before.edges {
            let Some(from) = key.from.lineage().filter(|_| self.has_edge(key) != *there) else { continue };
            let name = if key.kind == EdgeKind::Parent { "parent" } else { "dependencies" };
            let fields = links.entry(from.clone()).or_default();
            if !fields.iter().any(|field| field == name) {
                fields.push(name.to_owned());
            }
        }
        links
    }

    fn bead_events(
        &self,
        lineage: &Lineage,
        old: Option<&Bead>,
        new: &Bead,
        mut fields: Vec<String>,
        events: &mut Vec<Event>,
    ) {
        let about = |kind, mark: &Mark| self.about(kind, lineage, mark.at().ms()).by(mark);
        let Some(old) = old else {
            events.push(about(EventKind::Created, &lineage.mark()));
            events.extend(self.earlier_events(lineage, new));
            return;
        };
        let mut latest = Stamp::ZERO;
        let mut last = new.top_mark().clone();
        let closed = old.status.mark != new.status.mark && new.status.value.status == Status::Closed;
        let was_closed = old.status.value.status == Status::Closed;
        let reopened = was_closed && new.status.value.status != Status::Closed;
        let claimed = old.claim.mark != new.claim.mark && new.claim.assignee.is_some();
        let released = old.claim.is_taken() && new.claim.assignee.is_none();
        for field in Field::ALL.iter().filter(|field| old.mark(**field) != new.mark(**field)) {
            let is_covered = match field {
                Field::Status => {
                    closed
                        || reopened
                        || (claimed && new.status() == Status::InProgress)
                        || (released && new.status() == Status::Open)
                }
                Field::Assignee | Field::AssigneeExpires => claimed || released,
                _ => false,
            };
            if !is_covered {
                fields.push(field.name().to_owned());
                if new.mark(*field).at() > latest {
                    (latest, last) = (new.mark(*field).at(), new.mark(*field).clone());
                }
            }
        }
        if old.deletion.is_some() && new.deletion.is_none() && !old.is_archived() {
            fields.push("deleted".to_owned());
        }
        if reopened {
            events.push(about(EventKind::Reopened, &new.status.mark));
        }
        if released && !was_closed {
            let expired = old.claim.expired(new.claim.mark.at().ms());
            let kind = if expired { EventKind::Expired } else { EventKind::Released };
            events.push(about(kind, &new.claim.mark).with_claim(&old.claim));
        }
        if claimed {
            let kind = if new.is_offer() { EventKind::HandedOver } else { EventKind::Claimed };
            events.push(about(kind, &new.claim.mark).with_claim(&new.claim));
        }
        for note in new.notes_in_order().into_iter().filter(|note| !old.notes.contains_key(&note.id)) {
            events.push(about(note_kind(note), &note.mark()).text(Some(note.content.as_str())));
        }
        // A note renews the lease; the event of the note is enough.
        let renewal_only = fields.len() == 1 && fields[0] == Field::AssigneeExpires.name();
        let is_covered = renewal_only && old.notes.len() != new.notes.len();
        if !is_covered && !fields.is_empty() {
            events.push(Event { fields, ..about(EventKind::Updated, &last) });
        }
        if closed {
            let reason = new.status.value.closed_reason.non_empty();
            events.push(about(closing_kind(new), &new.status.mark).text(reason));
        }
        if let Some(deletion) = new.deletion.as_ref().filter(|_| old.deletion.is_none()) {
            events.push(about(EventKind::Deleted, &deletion.mark).text(deletion.reason.non_empty()));
        }
    }

    /// Returns the events of a bead before it arrived here: another replica may have added notes, claimed,
    /// closed or deleted it.
    fn earlier_events(&self, lineage: &Lineage, bead: &Bead) -> Vec<Event> {
        let about = |kind, mark: &Mark| self.about(kind, lineage, mark.at().ms()).by(mark);
        let note = |note: &Arc<Note>| about(note_kind(note), &note.mark()).text(Some(note.content.as_str()));
        let mut events: Vec<Event> = bead.notes_in_order().into_iter().map(note).collect();
        if let Some(deletion) = &bead.deletion {
            events.push(about(EventKind::Deleted, &deletion.mark).text(deletion.reason.non_empty()));
        } else if bead.status.value.status == Status::Closed {
            let reason = bead.status.value.closed_reason.non_empty();
            events.push(about(closing_kind(bead), &bead.status.mark).text(reason));
        } else if bead.status() == Status::InProgress && bead.claim.assignee.is_some() {
            events.push(about(EventKind::Claimed, &bead.claim.mark).with_claim(&bead.claim));
        }
        events
    }

    fn about(&self, kind: EventKind, lineage: &Lineage, at_ms: u64) -> Event {
        Event {
            id: Some(self.id_of(lineage).clone()),
            title: self.bead(lineage).map(|bead| bead.title.value.clone()),
            ..Event::new(kind, at_ms)
        }
    }
}

fn closing_kind(bead: &Bead) -> EventKind {
    if bead.is_cancelled() { EventKind::Cancelled } else { EventKind::Closed }
}

fn note_kind(note: &Note) -> EventKind {
    match note.kind.as_ref().map(crate::Word::as_str) {
        Some(crate::QUESTION) => EventKind::Asked,
        Some(crate::ANSWER) => EventKind::Answered,
        _ => EventKind::Note,
    }
}
