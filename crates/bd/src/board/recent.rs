//! What the board remembers of recent writes: their answers, so that a repeated request gets the first one, and which
//! change each of them replaced, so that several can be undone one after another.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use beads_engine::failure::{Code, Failure};
use serde_json::value::RawValue;

use super::actions::Action;

/// The most answers that are kept. A page repeats a request within seconds.
const MOST_ANSWERS: usize = 100;

/// The most bytes of answers and messages that are kept, except for the newest one.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The most changes whose predecessors are kept.
const MOST_CHANGES: usize = 1_000;

/// The recent writes through this board.
#[derive(Debug, Default)]
pub struct Recent {
    /// Held during writes whose repetition only the board can recognise.
    turn: Mutex<()>,
    answers: Mutex<VecDeque<Answered>>,
    versions: Mutex<Versions>,
}

#[derive(Debug)]
struct Answered {
    request_id: String,
    action: Action,
    answer: Box<RawValue>,
}

impl Answered {
    /// Returns how much memory it takes. Most answers repeat the texts of their actions.
    fn bytes(&self) -> usize {
        let text = match &self.action {
            Action::Message { text, .. } => text.len(),
            _ => 0,
        };
        self.answer.get().len() + text
    }
}

impl Recent {
    /// Waits until no other such write is under way.
    pub fn take_turn(&self) -> MutexGuard<'_, ()> {
        locked(&self.turn)
    }

    /// Returns the answer to an earlier attempt of the same request.
    pub fn answer_to(&self, request_id: &str, action: &Action) -> Result<Option<Box<RawValue>>, Failure> {
        match locked(&self.answers).iter().find(|one| one.request_id == request_id) {
            Some(one) if one.action == *action => Ok(Some(one.answer.clone())),
            Some(_) => Err(Failure::new(
                Code::RequestIdReused,
                format!("the request id {request_id} was used for something else; nothing was changed"),
            )),
            None => Ok(None),
        }
    }

    /// Remembers the answer to a request.
    pub fn keep(&self, request_id: String, action: Action, answer: &RawValue) {
        let mut answers = locked(&self.answers);
        answers.push_back(Answered { request_id, action, answer: answer.to_owned() });
        let mut bytes: usize = answers.iter().map(Answered::bytes).sum();
        while answers.len() > MOST_ANSWERS || (bytes > MOST_BYTES && answers.len() > 1) {
            bytes -= answers.pop_front().map_or(0, |one| one.bytes());
        }
    }

    /// Returns what is known about the order of changes.
    pub fn versions(&self) -> MutexGuard<'_, Versions> {
        locked(&self.versions)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The times of the changes to a bead. After an undo, the bead has a new time but is as it was at an earlier one.
#[derive(Debug, Default)]
pub struct Versions {
    /// The change before a change.
    before: Times,
    /// The change that a bead is as after, by the time of the undo.
    restored: Times,
}

impl Versions {
    /// Remembers that a change to a bead followed another one. Both are given by their times.
    pub fn follow(&mut self, id: &str, before_ms: u64, at_ms: u64) {
        let before_ms = self.resolve(id, before_ms);
        self.before.add(id, at_ms, before_ms);
    }

    /// Remembers that a change to a bead was undone at a time.
    pub fn undo(&mut self, id: &str, change_ms: u64, at_ms: u64) {
        if let Some(before_ms) = self.before.get(id, change_ms) {
            self.restored.add(id, at_ms, before_ms);
        }
    }

    /// Returns the time of the change that a bead is as after.
    pub fn resolve(&self, id: &str, at_ms: u64) -> u64 {
        self.restored.get(id, at_ms).unwrap_or(at_ms)
    }
}

/// A bounded map from a time of a bead to another one.
#[derive(Debug, Default)]
struct Times(VecDeque<(String, u64, u64)>);

impl Times {
    fn add(&mut self, id: &str, from_ms: u64, to_ms: u64) {
        self.0.push_back((id.to_owned(), from_ms, to_ms));
        let surplus = self.0.len().saturating_sub(MOST_CHANGES);
        self.0.drain(..surplus);
    }

    fn get(&self, id: &str, from_ms: u64) -> Option<u64> {
        let found = self.0.iter().rev().find(|(known, from, _)| known == id && *from == from_ms);
        found.map(|(_, _, to)| *to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn claim(id: &str) -> Action {
        Action::Claim { id: id.to_owned() }
    }

    #[test]
    fn a_repeated_request_gets_its_first_answer() {
        let recent = Recent::default();
        assert!(recent.answer_to("r1", &claim("bd-1")).unwrap().is_none());
        recent.keep("r1".into(), claim("bd-1"), &raw("{\"id\":\"bd-1\"}"));
        assert_eq!(recent.answer_to("r1", &claim("bd-1")).unwrap().unwrap().get(), "{\"id\":\"bd-1\"}");
        let other = recent.answer_to("r1", &claim("bd-2")).unwrap_err();
        assert_eq!(other.code, Code::RequestIdReused);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let recent = Recent::default();
        for number in 0..MOST_ANSWERS + 20 {
            recent.keep(format!("r{number}"), claim("bd-1"), &raw("1"));
        }
        assert_eq!(locked(&recent.answers).len(), MOST_ANSWERS);
        let text = "a".repeat(MOST_BYTES);
        recent.keep("large answer".into(), claim("bd-1"), &raw(&format!("\"{text}\"")));
        assert_eq!(locked(&recent.answers).len(), 1);
        let message = Action::Message { to: "claude-1".into(), bead: "bd-1".into(), text };
        recent.keep("large message".into(), message, &raw("1"));
        assert_eq!(locked(&recent.answers).len(), 1);
        for number in 0..2_000 {
            recent.versions().follow("bd-1", number, number + 1);
        }
        assert_eq!(recent.versions().before.0.len(), MOST_CHANGES);
    }

    #[test]
    fn changes_can_be_undone_one_after_another() {
        let mut versions = Versions::default();
        versions.follow("bd-1", 0, 10);
        versions.follow("bd-1", 10, 20);
        assert_eq!(versions.resolve("bd-1", 20), 20);
        versions.undo("bd-1", 20, 30);
        assert_eq!(versions.resolve("bd-1", 30), 10, "as after the first change");
        assert_eq!(versions.resolve("bd-2", 30), 30);
        versions.undo("bd-1", 10, 40);
        assert_eq!(versions.resolve("bd-1", 40), 0);
        // A change after an undo follows what the undo restored.
        versions.follow("bd-1", 30, 50);
        versions.undo("bd-1", 50, 60);
        assert_eq!(versions.resolve("bd-1", 60), 10);
        // The undo of a change that something else preceded says nothing about earlier ones.
        versions.undo("bd-1", 15, 70);
        assert_eq!(versions.resolve("bd-1", 70), 70);
    }
}
