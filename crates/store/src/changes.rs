//! What happened since the last save, for the message of the next commit on the ref.

use beads_core::{Actor, BeadId, Event, EventKind, counted};

/// The message of a commit without changes of its own, such as one that restores the ref.
const NOTHING: &str = "beads";

/// The width of the first line of a commit message that all programs show in full.
const MAX_COLUMNS: usize = 72;

/// More changes than this never fit into the message; the rest is only counted.
const MAX_NAMED: usize = 8;

/// Longer names of actors are cut.
const MAX_ACTOR: usize = 24;

/// A bounded summary of changes. Its size does not depend on how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    count: u64,
    /// Some changes, each with the bead it is about: the telling ones first, each kind in the order of time.
    named: Vec<(&'static str, BeadId)>,
    /// The first actor.
    actor: Option<Actor>,
    has_other_actors: bool,
}

impl Changes {
    /// Adds a change with its events, which name the beads.
    pub(crate) fn note(&mut self, by: &Actor, events: &[Event]) {
        self.count += 1;
        self.note_actor(by);
        for event in events {
            if let (Some(verb), Some(id)) = (verb(event.kind), &event.id) {
                self.note_bead(verb, id);
            }
        }
    }

    fn note_actor(&mut self, by: &Actor) {
        match &self.actor {
            None => self.actor = Some(by.clone()),
            Some(actor) => self.has_other_actors |= actor != by,
        }
    }

    /// Names a change. A claim or a note says nothing new about a bead that was also closed, so telling changes
    /// replace others of the same bead.
    fn note_bead(&mut self, verb: &'static str, id: &BeadId) {
        let telling = is_telling(verb);
        let is_covered =
            |(known, bead): &(&str, BeadId)| bead == id && (*known == verb || !telling && is_telling(known));
        if self.named.iter().any(is_covered) {
            return;
        }
        if telling {
            self.named.retain(|(known, bead)| bead != id || is_telling(known));
        }
        let place = self.named.partition_point(|(known, _)| !telling || is_telling(known));
        if place < MAX_NAMED {
            self.named.insert(place, (verb, id.clone()));
            self.named.truncate(MAX_NAMED);
        }
    }

    /// Adds later changes.
    pub(crate) fn append(&mut self, later: &Self) {
        self.count += later.count;
        later.actor.iter().for_each(|actor| self.note_actor(actor));
        self.has_other_actors |= later.has_other_actors;
        later.named.iter().for_each(|(verb, id)| self.note_bead(verb, id));
    }

    /// Returns the message, such as `close bd-a1, create bd-b2 (3 changes by agent-1)`.
    pub(crate) fn message(&self) -> String {
        let Some(actor) = &self.actor else { return NOTHING.to_owned() };
        let others = if self.has_other_actors { " and others" } else { "" };
        let total =
            format!("{} by {}{others}", counted(self.count, "change"), cut(actor.as_str(), MAX_ACTOR));
        let mut named = String::new();
        for (index, (verb, id)) in self.named.iter().enumerate() {
            let next = format!("{}{verb} {id}", if index == 0 { "" } else { ", " });
            let is_last = index + 1 == self.named.len();
            // Behind the last one there is no need for an ellipsis.
            let more = if is_last { 0 } else { ", …".chars().count() };
            if columns(&named) + columns(&next) + more + columns(&total) + " ()".len() > MAX_COLUMNS {
                named.push_str(if index == 0 { "" } else { ", …" });
                break;
            }
            named.push_str(&next);
        }
        if named.is_empty() { total } else { format!("{named} ({total})") }
    }
}

/// Returns whether a change matters more to a reader than the steps on the way to it.
fn is_telling(verb: &str) -> bool {
    !matches!(verb, "claim" | "update" | "note on" | "release" | "expire")
}

/// Returns the verb for an event, as in a commit title. Events that are consequences of others have none.
fn verb(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::Created => Some("create"),
        EventKind::Claimed => Some("claim"),
        EventKind::Updated => Some("update"),
        EventKind::Note => Some("note on"),
        EventKind::Closed => Some("close"),
        EventKind::Cancelled => Some("cancel"),
        EventKind::HandedOver => Some("hand over"),
        EventKind::Asked => Some("ask about"),
        EventKind::Answered => Some("answer on"),
        EventKind::Reopened => Some("reopen"),
        EventKind::Released => Some("release"),
        EventKind::Expired => Some("expire"),
        EventKind::Deleted => Some("delete"),
        EventKind::Archived => Some("archive"),
        EventKind::Unblocked
        | EventKind::Synced
        | EventKind::SyncFailed
        | EventKind::SyncRecovered
        | EventKind::Conflict => None,
    }
}

/// Returns an upper bound of the columns that a text takes: other characters than ASCII may be wide.
fn columns(text: &str) -> usize {
    text.chars().map(|character| if character.is_ascii() || character == '…' { 1 } else { 2 }).sum()
}

/// Cuts a text to some columns.
fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    for character in text.chars() {
        if columns(&out) + columns(character.encode_utf8(&mut [0; 4])) >= most {
            break;
        }
        out.push(character);
    }
    out + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, id: &str) -> Event {
        let event = serde_json::json!({"type": kind.as_str(), "at": "2026-01-01T00:00:00.000Z", "id": id});
        serde_json::from_value(event).unwrap()
    }

    fn actor(name: &str) -> Actor {
        name.parse().unwrap()
    }

    #[test]
    fn a_message_names_the_changes_their_number_and_the_actor() {
        let mut changes = Changes::default();
        assert_eq!(changes.message(), "beads");
        changes.note(
            &actor("agent-1"),
            &[event(EventKind::Closed, "bd-a1"), event(EventKind::Unblocked, "bd-c3")],
        );
        assert_eq!(changes.message(), "close bd-a1 (1 change by agent-1)");
        changes.note(&actor("agent-1"), &[event(EventKind::Created, "bd-b2")]);
        changes.note(&actor("agent-1"), &[event(EventKind::Created, "bd-b2")]);
        assert_eq!(changes.message(), "close bd-a1, create bd-b2 (3 changes by agent-1)");
        changes.note(&actor("agent-2"), &[]);
        assert_eq!(changes.message(), "close bd-a1, create bd-b2 (4 changes by agent-1 and others)");
    }

    #[test]
    fn closes_and_creations_come_before_the_steps_on_the_way() {
        let mut changes = Changes::default();
        for number in 0..20 {
            changes.note(&actor("ann"), &[event(EventKind::Updated, &format!("bd-{number}"))]);
        }
        changes.note(&actor("ann"), &[event(EventKind::Claimed, "bd-a1"), event(EventKind::Note, "bd-a1")]);
        changes.note(&actor("ann"), &[event(EventKind::Note, "bd-a1"), event(EventKind::Closed, "bd-a1")]);
        changes
            .note(&actor("ann"), &[event(EventKind::Updated, "bd-a1"), event(EventKind::Created, "bd-b2")]);
        let message = changes.message();
        assert_eq!(message, "close bd-a1, create bd-b2, update bd-0, … (23 changes by ann)");

        let mut one = Changes::default();
        let events =
            [EventKind::Claimed, EventKind::Note, EventKind::Closed].map(|kind| event(kind, "bd-a1"));
        one.note(&actor("ann"), &events);
        assert_eq!(one.message(), "close bd-a1 (1 change by ann)");
    }

    #[test]
    fn a_message_and_the_summary_are_bounded() {
        let mut changes = Changes::default();
        for number in 0..1_000 {
            let id = format!("bd-{}{number}", "x".repeat(number % 40));
            changes.note(&actor(&"名".repeat(60)), &[event(EventKind::Updated, &id)]);
            assert!(columns(&changes.message()) <= MAX_COLUMNS, "{}", changes.message());
        }
        assert_eq!(changes.named.len(), MAX_NAMED);
        assert!(changes.message().contains(", … (1000 changes by 名"), "{}", changes.message());
    }

    #[test]
    fn changes_of_an_abandoned_save_are_kept() {
        let (mut first, mut second) = (Changes::default(), Changes::default());
        first.note(&actor("ann"), &[event(EventKind::Created, "bd-1")]);
        second.note(&actor("bob"), &[event(EventKind::Closed, "bd-1")]);
        first.append(&second);
        assert_eq!(first.message(), "create bd-1, close bd-1 (2 changes by ann and others)");
    }
}
