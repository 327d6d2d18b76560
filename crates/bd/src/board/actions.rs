//! The writes: each becomes one ordinary operation with the request id of the page, so that a double click
//! and a repeated request act once.

use beads_core::op::{
    AnswerQuestion, Change, ClaimBead, Close, Create, DepRemove, Fence, Guard, NoteAdd, Reopen, Unclaim,
    Update,
};
use beads_core::{EdgeKind, Op, Priority, Text, Timestamp, Title};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, ResolveConflicts};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::mail;
use super::recent::Recent;
use super::store::StoreClient;
use super::undo::{Change as Undone, undo, updated_ms};

/// A write that the page asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// Chosen by the page: a write with the same id is applied once.
    pub request_id: String,
    pub action: Action,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Claim {
        id: String,
    },
    /// Releases the caller's own claim.
    Release {
        id: String,
    },
    /// Releases another actor's claim, if it is still the one that the page shows.
    TakeBack {
        id: String,
        #[serde(default)]
        fence: Option<Fence>,
    },
    Close {
        id: String,
        #[serde(default)]
        reason: Text,
    },
    Reopen {
        id: String,
    },
    Priority {
        id: String,
        priority: Priority,
    },
    /// Moves the due date, or removes it.
    Due {
        id: String,
        due: Option<Timestamp>,
    },
    /// Changes texts, if the bead still has the content that the page shows.
    Edit {
        id: String,
        hash: String,
        #[serde(default)]
        title: Option<Title>,
        #[serde(default)]
        description: Option<Text>,
        #[serde(default)]
        design: Option<Text>,
        #[serde(default)]
        acceptance_criteria: Option<Text>,
    },
    Note {
        id: String,
        text: Text,
    },
    Answer {
        id: String,
        #[serde(default)]
        question: Option<String>,
        text: Text,
    },
    /// Removes an edge of a cycle.
    Cut {
        from: String,
        to: String,
    },
    /// Dismisses a conflict, or restores the value that lost.
    Resolve {
        conflict: String,
        restore: bool,
    },
    Create {
        title: Title,
        #[serde(default)]
        priority: Option<Priority>,
        #[serde(default)]
        parent: Option<String>,
    },
    /// Frees a bead that is in progress without a claim.
    Free {
        id: String,
    },
    Message {
        to: String,
        bead: String,
        text: String,
    },
    Sync,
    /// Undoes a change of the caller: the one that left the bead with this `updated_at`, or the one that removed
    /// the dependency on `to`.
    Undo {
        id: String,
        #[serde(default)]
        updated_at: Option<String>,
        #[serde(default)]
        to: Option<String>,
    },
}

impl Action {
    /// Returns the bead that the action changes, if the action can be undone.
    fn changed_bead(&self) -> Option<&str> {
        match self {
            Self::Claim { id }
            | Self::Release { id }
            | Self::TakeBack { id, .. }
            | Self::Close { id, .. }
            | Self::Reopen { id }
            | Self::Priority { id, .. }
            | Self::Due { id, .. }
            | Self::Edit { id, .. }
            | Self::Free { id } => Some(id),
            _ => None,
        }
    }
}

/// Carries out a write and returns the store's answer.
pub fn act(store: &StoreClient, recent: &Recent, act: Act) -> Result<Box<RawValue>, Failure> {
    let Act { request_id, action } = act;
    if request_id.is_empty() || request_id.starts_with('~') {
        return Err(Failure::invalid("a request id must not be empty or begin with ~; nothing was changed"));
    }
    // The store does not recognise a repeated message, nor an undo whose change is gone.
    let is_known_only_here = matches!(action, Action::Undo { .. } | Action::Message { .. });
    let _turn = is_known_only_here.then(|| recent.take_turn());
    if let Some(answer) = recent.answer_to(&request_id, &action)? {
        return Ok(answer);
    }
    let id = request_id.clone();
    let answer = match action.clone() {
        Action::Undo { id: bead, updated_at, to } => {
            undo(store, recent, &Undone::new(bead, updated_at.as_deref(), to)?, id)?
        }
        Action::Message { to, bead, text } => message(store, &to, bead, &text, id)?,
        action => write(store, recent, action, id)?,
    };
    recent.keep(request_id, action, &answer);
    Ok(answer)
}

/// Carries out a write that the store recognises when it is repeated. The answer has what its undo needs.
fn write(
    store: &StoreClient,
    recent: &Recent,
    action: Action,
    request_id: String,
) -> Result<Box<RawValue>, Failure> {
    let bead = action.changed_bead().map(str::to_owned);
    let before_ms = bead.as_deref().map(|id| updated_ms(store, id)).transpose()?.flatten();
    let changes_no_bead = matches!(action, Action::Resolve { restore: false, .. });
    let answer = store.ask(call(action), Some(request_id))?;
    let answer = serde_json::from_str(answer.get()).map_err(Failure::internal)?;
    let answer = with_version(answer, before_ms, changes_no_bead);
    if let (Some(id), Some(before_ms), Some(at_ms)) = (bead, before_ms, updated_in(&answer)) {
        recent.versions().follow(&id, before_ms, at_ms);
    }
    serde_json::value::to_raw_value(&answer).map_err(Failure::internal)
}

/// Returns the answer about one bead, whose `updated_at` identifies the change. If nothing was changed, it is null: an
/// undo would meet an earlier change. `before_ms` is when the bead was changed before.
fn with_version(answer: Value, before_ms: Option<u64>, changes_no_bead: bool) -> Value {
    let mut answer = match answer {
        Value::Array(mut list) if list.len() == 1 => list.remove(0),
        other => other,
    };
    let is_same = before_ms.is_some() && updated_in(&answer) == before_ms;
    if changes_no_bead || is_same || answer["unchanged"] == true || answer["renewed"] == true {
        answer["updated_at"] = Value::Null;
    }
    answer
}

/// Returns when a bead was last changed, according to an answer.
fn updated_in(answer: &Value) -> Option<u64> {
    answer["updated_at"].as_str()?.parse::<Timestamp>().ok().map(Timestamp::ms)
}

fn call(action: Action) -> Call {
    let guard = Guard::default();
    Call::one(match action {
        Action::Claim { id } => {
            Op::Claim(ClaimBead { id, guard, lease_ms: None, take_over: false, at: None, until: None })
        }
        Action::Release { id } => Op::Unclaim(Unclaim { id, guard, force: false, reason: Text::default() }),
        Action::TakeBack { id, fence } => {
            let reason = "taken back on the board".parse().unwrap_or_default();
            Op::Unclaim(Unclaim { id, guard: Guard { fence, ..guard }, force: true, reason })
        }
        Action::Close { id, reason } => {
            Op::Close(Close { id, guard, reason, strict: false, force: false, evidence: Vec::new() })
        }
        Action::Reopen { id } => Op::Reopen(Reopen { id, guard, status: None, reason: Text::default() }),
        Action::Priority { id, priority } => {
            Op::Update(Box::new(Update { id, priority: Some(priority), ..Update::default() }))
        }
        Action::Due { id, due } => {
            let due_at = Some(due.map_or(Change::Clear, Change::Set));
            Op::Update(Box::new(Update { id, due_at, ..Update::default() }))
        }
        Action::Edit { id, hash, title, description, design, acceptance_criteria } => {
            let guard = Guard { content_hash: Some(hash), ..guard };
            let rest = Update::default();
            Op::Update(Box::new(Update {
                id,
                guard,
                title,
                description,
                design,
                acceptance_criteria,
                ..rest
            }))
        }
        Action::Free { id } => {
            let status = "open".parse().ok();
            Op::Update(Box::new(Update { id, status, ..Update::default() }))
        }
        Action::Answer { id, question, text } => Op::Answer(AnswerQuestion { id, guard, text, question }),
        Action::Cut { from, to } => Op::DepRemove(DepRemove { from, to, kind: EdgeKind::Blocks }),
        Action::Create { title, priority, parent } => {
            let priority = priority.unwrap_or_default();
            Op::Create(Box::new(Create { priority, parent, ..Create::titled(title) }))
        }
        Action::Note { id, text } => return Call::Note(note(id, text)),
        Action::Resolve { conflict, restore } => {
            return Call::ResolveConflicts(ResolveConflicts {
                ids: vec![conflict],
                restore,
                ..ResolveConflicts::default()
            });
        }
        Action::Sync | Action::Undo { .. } | Action::Message { .. } => return Call::Sync,
    })
}

fn note(id: String, content: Text) -> NoteAdd {
    NoteAdd { id, content, ..NoteAdd::default() }
}

/// Sends mail to a registered agent. Others have no mailbox, so the text becomes a note on the bead.
fn message(
    store: &StoreClient,
    to: &str,
    bead: String,
    text: &str,
    request_id: String,
) -> Result<Box<RawValue>, Failure> {
    let sent = mail::send(&store.directory, &store.actor, to, &bead, text)?;
    if !sent {
        let text: Text = format!("@{to}: {text}").parse()?;
        store.ask(Call::Note(note(bead, text)), Some(request_id))?;
    }
    serde_json::value::to_raw_value(&json!({"sent": if sent { "mail" } else { "note" }}))
        .map_err(Failure::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_identifies_its_change_unless_nothing_changed() {
        let at = "2026-11-19T22:00:00.000Z";
        let bead = || json!({"id": "bd-1", "updated_at": at});
        let at_ms = updated_in(&bead()).unwrap();
        for answer in [bead(), json!([bead()])] {
            assert_eq!(with_version(answer, Some(at_ms - 1), false)["updated_at"], at);
        }
        assert_eq!(with_version(bead(), None, false)["updated_at"], at);
        assert_eq!(with_version(bead(), Some(at_ms), false)["updated_at"], Value::Null);
        assert_eq!(with_version(bead(), None, true)["updated_at"], Value::Null);
        for reason in ["unchanged", "renewed"] {
            let answer = json!({"id": "bd-1", "updated_at": at, reason: true});
            assert_eq!(with_version(answer, None, false)["updated_at"], Value::Null, "{reason}");
        }
        assert_eq!(with_version(Value::Null, None, false), Value::Null);
    }
}
