//! Carrying out an [`Intent`]: completely, or not at all.

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

/// What takes back one step.
enum Undo {
    Remove(PathBuf),
    Cut(PathBuf, u64),
}

/// The first time nothing has been done; after a crash each step looks first whether it was.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    First,
    AfterCrash,
}

impl Session<'_> {
    /// Makes the intent durable, carries it out, forgets it. If a write fails, what was written is taken back.
    pub(super) fn commit(&self, intent: &Intent) -> Result<()> {
        if !self.writes()? {
            return Ok(());
        }
        let undo = self.prepare(intent)?;
        let pending = self.path(&[PENDING]);
        let done = files::write_json(&pending, intent).and_then(|()| self.carry_out(intent, Pass::First));
        let Err(mut failed) = done else {
            // All is written. An intent that could not be removed is carried out again, to no effect.
            drop(self.forget());
            return Ok(());
        };
        let undone = undo.iter().try_for_each(Undo::run).and_then(|()| files::remove(&pending));
        failed.message.push_str(match undone {
            Ok(()) => " Nothing was changed.",
            Err(_) => " The next command that can write will finish this one: do not repeat it.",
        });
        Err(failed)
    }

    /// Checks, before anything is written, that every log can take a line; notes how to get back here.
    fn prepare(&self, intent: &Intent) -> Result<Vec<Undo>> {
        let mut undo = Vec::new();
        let log = |path: PathBuf| files::log_length(&path).map(|length| Undo::Cut(path, length));
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
            Intent::Deliver(messages) => messages.iter().try_for_each(|message| self.file(message, pass)),
            Intent::End { ended, active } => {
                ended.iter().try_for_each(|reservation| self.file_ended(reservation, pass))?;
                // Last, because this is the one step that cannot be taken back.
                self.save_active(active)
            }
        }
    }

    fn file(&self, message: &Message, pass: Pass) -> Result<()> {
        if pass == Pass::First || self.find_message(&message.message_id)?.is_none() {
            self.save_message(message)?;
        }
        let path = self.inbox_path(&message.to_agent);
        let line = files::line(&path, message)?;
        match pass {
            Pass::First => files::append(&path, &line),
            Pass::AfterCrash => files::ensure_line(&path, &line, |there| {
                named(there).message_id.as_deref() == Some(message.message_id.as_str())
            }),
        }
    }

    fn file_ended(&self, reservation: &Reservation, pass: Pass) -> Result<()> {
        let path = self.history_path();
        let line = files::line(&path, reservation)?;
        match pass {
            Pass::First => files::append(&path, &line),
            Pass::AfterCrash => files::ensure_line(&path, &line, |there| {
                named(there).reservation_id.as_deref() == Some(&reservation.reservation_id)
            }),
        }
    }

    /// Durably: an intent that came back after others followed it would undo them.
    fn forget(&self) -> Result<()> {
        let (pending, dir) = (self.path(&[PENDING]), self.path(&[]));
        files::remove(&pending)
            .and_then(|()| beads_store::sync_directory(&dir))
            .map_err(|why| Error::unwritable(&pending, why))
    }

    /// Finishes what a killed process had begun.
    pub(super) fn recover(&self) -> Result<()> {
        let pending: Option<Intent> = files::read_json(&self.path(&[PENDING]))?;
        match pending {
            None => Ok(()),
            Some(intent) => self.carry_out(&intent, Pass::AfterCrash).and_then(|()| self.forget()),
        }
    }
}

impl Undo {
    fn run(&self) -> io::Result<()> {
        match self {
            Undo::Remove(path) => files::remove(path),
            Undo::Cut(path, length) => files::cut(path, *length),
        }
    }
}

/// Just enough of a record to recognise it in a log.
#[derive(Default, Deserialize)]
struct Named {
    message_id: Option<String>,
    reservation_id: Option<String>,
}

fn named(line: &[u8]) -> Named {
    serde_json::from_slice(line).unwrap_or_default()
}
