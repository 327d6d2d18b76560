//! The writes: each becomes one ordinary operation with the request id of the page, so that a double click
//! and a repeated request act once.

use beads_core::op::{
    AnswerQuestion, Change, ClaimBead, Close, Create, DepRemove, Fence, Guard, NoteAdd, Reopen, Unclaim,
    Update,
};
use beads_core::{EdgeKind, Op, Priority, Text, Timestamp, Title};
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, ResolveConflicts};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::mail;
use super::store::StoreClient;

/// A write that the page asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// Chosen by the page: a write with the same id is applied once.
    pub request_id: String,
    pub action: Action,
}

/// What to do.
#[derive(Debug, Deserialize)]
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
    /// Undoes the caller's last operation, if it changed this bead.
    Undo {
        id: String,
    },
}

/// Carries out a write and returns the store's answer.
pub fn act(store: &StoreClient, act: Act) -> Result<Box<RawValue>, Failure> {
    if act.request_id.is_empty() || act.request_id.starts_with('~') {
        return Err(Failure::invalid("a request id must not be empty or begin with ~; nothing was changed"));
    }
    match act.action {
        Action::Undo { id } => undo(store, &id, act.request_id),
        Action::Message { to, bead, text } => message(store, &to, bead, &text, act.request_id),
        action => store.ask(call(action), Some(act.request_id)),
    }
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

/// Undoes the last operation of the caller, which must be the one that the page shows: the caller may have
/// done something else on the command line in the meantime.
fn undo(store: &StoreClient, id: &str, request_id: String) -> Result<Box<RawValue>, Failure> {
    let planned: Value = store.value(Call::Undo { dry_run: true, redo: false, skip: false })?;
    let changes =
        |list: &str, key: &str| planned[list].as_array().into_iter().flatten().any(|one| one[key] == id);
    if !changes("beads", "id") && !changes("dependencies", "issue_id") {
        let message = format!("your last change was not to {id}; bd undo --dry-run shows it");
        return Err(Failure::new(Code::Conflict, message));
    }
    store.ask(Call::Undo { dry_run: false, redo: false, skip: false }, Some(request_id))
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
