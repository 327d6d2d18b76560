//! Carries out an [`Intent`] completely or not at all.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use super::error::{Error, Result};
use super::files;
use super::intent::Intent;
use super::message::Message;
use super::reservation::Reservation;
use super::store::Session;

const PENDING: &str = "pending.json";

/// How to undo one step.
enum Undo {
    Remove(PathBuf),
    Truncate(PathBuf, u64),
}

/// Whether steps may already have been done: after a crash each step checks for that.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    First,
    AfterCrash,
}

impl Session<'_> {
    /// Makes the intent durable, carries it out and removes it. If a write fails, the earlier ones are
    /// undone.
    pub(super) fn commit(&self, intent: &Intent) -> Result<()> {
        if !self.check_writable()? {
            return Ok(());
        }
        let undo = self.prepare(intent)?;
        let pending = self.path(&[PENDING]);
        let done = files::write_json(&pending, intent).and_then(|()| self.carry_out(intent, Pass::First));
        let Err(mut failed) = done else {
            // Everything is written. If the intent cannot be removed, carrying it out again has no effect.
            drop(self.remove_intent());
            return Ok(());
        };
        let undone = undo.iter().try_for_each(Undo::run).and_then(|()| files::remove(&pending));
        failed.message.push_str(match undone {
            Ok(()) => " Nothing was changed.",
            Err(_) => " The next command that can write will finish this one: do not repeat it.",
        });
        Err(failed)
    }

    /// Checks before anything is written that every log can be appended to, and returns how to undo each
    /// step.
    fn prepare(&self, intent: &Intent) -> Result<Vec<Undo>> {
        let mut undo = Vec::new();
        let log = |path: PathBuf| files::log_length(&path).map(|length| Undo::Truncate(path, length));
        match intent {
            Intent::Deliver(messages) => {
                for message in messages {
                    undo.push(log(self.inbox_path(&message.to_agent))?);
                    undo.push(Undo::Remove(self.index_path(&message.message_id)));
                }
            }
            Intent::End { .. } => undo.push(log(self.history_path())?),
        }
        Ok(undo)
    }

    fn carry_out(&self, intent: &Intent, pass: Pass) -> Result<()> {
        match intent {
            Intent::Deliver(messages) => {
                messages.iter().try_for_each(|message| self.store_message(message, pass))
            }
            Intent::End { ended, active } => {
                ended.iter().try_for_each(|reservation| self.append_to_history(reservation, pass))?;
                // Last, because this step cannot be undone.
                self.save_active(active)
            }
        }
    }

    fn store_message(&self, message: &Message, pass: Pass) -> Result<()> {
        if pass == Pass::First || self.find_message(&message.message_id)?.is_none() {
            self.save_message(message)?;
        }
        let path = self.inbox_path(&message.to_agent);
        let line = files::line(&path, message)?;
        match pass {
            Pass::First => files::append(&path, &line),
            Pass::AfterCrash => files::ensure_line(&path, &line, |existing| {
                record_ids(existing).message_id.as_deref() == Some(message.message_id.as_str())
            }),
        }
    }

    fn append_to_history(&self, reservation: &Reservation, pass: Pass) -> Result<()> {
        let path = self.history_path();
        let line = files::line(&path, reservation)?;
        match pass {
            Pass::First => files::append(&path, &line),
            Pass::AfterCrash => files::ensure_line(&path, &line, |existing| {
                record_ids(existing).reservation_id.as_deref() == Some(&reservation.reservation_id)
            }),
        }
    }

    /// Removes the intent durably. If it came back after later commands, it would undo them.
    fn remove_intent(&self) -> Result<()> {
        let (pending, dir) = (self.path(&[PENDING]), self.path(&[]));
        files::remove(&pending)
            .and_then(|()| beads_store::sync_directory(&dir))
            .map_err(|why| Error::unwritable(&pending, why))
    }

    /// Finishes the intent of a killed process.
    pub(super) fn recover(&self) -> Result<()> {
        let pending: Option<Intent> = files::read_json(&self.path(&[PENDING]))?;
        match pending {
            None => Ok(()),
            Some(intent) => self.carry_out(&intent, Pass::AfterCrash).and_then(|()| self.remove_intent()),
        }
    }
}

impl Undo {
    fn run(&self) -> io::Result<()> {
        match self {
            Undo::Remove(path) => files::remove(path),
            Undo::Truncate(path, length) => files::truncate(path, *length),
        }
    }
}

/// The ids that identify a record in a log.
#[derive(Default, Deserialize)]
struct RecordIds {
    message_id: Option<String>,
    reservation_id: Option<String>,
}

fn record_ids(line: &[u8]) -> RecordIds {
    serde_json::from_slice(line).unwrap_or_default()
}
