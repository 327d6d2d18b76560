//! The files of the store and the lock that guards them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use beads_store::{lock_within, open_to_lock};

use super::agent_id::AgentId;
use super::agent_record::Agent;
use super::bounds::{LOCK_WAIT, LOG_MAX};
use super::clock::Clock;
use super::error::{Code, Error, Reason, Result};
use super::files::{self, BadLine};
use super::intent::Intent;
use super::message::{Message, MessageId};
use super::moment::Moment;
use super::reservation::{ActiveFile, Reservation};
use super::root::Root;

/// A store that is not open yet: every operation opens a [`Session`].
#[derive(Debug)]
pub struct Store {
    root: Root,
    clock: Clock,
    caller: Option<AgentId>,
    preview: bool,
    /// Damaged entries that were skipped, to be reported beside the answer.
    warnings: Mutex<Vec<String>>,
}

impl Store {
    pub fn new(root: Root, clock: Clock) -> Store {
        Store { root, clock, caller: None, preview: false, warnings: Mutex::default() }
    }

    /// Returns the warnings since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn warn(&self, warning: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// Builds a store from `BB_AGENT_ROOT`, `BB_NOW`, `BB_ID` and `BB_AGENT` (the calling agent).
    pub fn from_env() -> Result<Store> {
        let mut store = Store::new(Root::from_env()?, Clock::from_env()?);
        store.caller = std::env::var("BB_AGENT").ok().and_then(|name| AgentId::parse(&name).ok());
        Ok(store)
    }

    /// Returns the same store in preview mode: every check runs, nothing is written.
    #[must_use]
    pub fn preview(mut self) -> Store {
        self.preview = true;
        self
    }

    /// Returns the same store with the id of the next message fixed.
    pub(super) fn with_id(mut self, id: &str) -> Result<Store> {
        self.clock = self.clock.with_id(id)?;
        Ok(self)
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Opens a session that may write, and creates the store if it does not exist. Only registration needs
    /// that.
    pub fn create(&self) -> Result<Session<'_>> {
        let dir = self.root.dir();
        if !self.preview {
            files::make_dir(dir).map_err(|why| Error::unwritable(dir, why))?;
        }
        let session = self.write()?;
        if session.lock.is_some() && !dir.join(AGENTS).exists() {
            self.root.exclude();
        }
        Ok(session)
    }

    /// Opens a session that may write. Without a store no agent is registered, so the command will be refused
    /// and no store is created for it.
    pub fn write(&self) -> Result<Session<'_>> {
        let dir = self.root.dir();
        if self.preview || !self.exists()? {
            return Ok(self.session(None));
        }
        let held = lock(&dir.join(LOCK), LOCK_WAIT).map_err(|(path, why)| busy(&path, &why))?;
        let session = self.session(Some(held));
        session.recover()?;
        Ok(session)
    }

    /// Opens a session that only reads and creates nothing. In a sandbox where the store is read-only it does
    /// without the lock: snapshots are replaced atomically, so it never sees half a file.
    pub fn read(&self) -> Result<Session<'_>> {
        if self.preview || !self.exists()? {
            return Ok(self.session(None));
        }
        match lock(&self.root.dir().join(LOCK), LOCK_WAIT) {
            Ok(held) => {
                let session = self.session(Some(held));
                session.recover()?;
                Ok(session)
            }
            Err((_, why)) if is_read_only(&why) => Ok(self.session(None)),
            Err((path, why)) => Err(busy(&path, &why)),
        }
    }

    /// Serializes calls with an idempotency key until the returned file is dropped, so that the first call
    /// with a key has saved its answer before the next one looks for it. Returns `None` where the store
    /// cannot be written; such a call fails later.
    pub(super) fn lock_keyed_calls(&self, may_create: bool) -> Result<Option<File>> {
        let dir = self.root.dir();
        if self.preview || (!may_create && !self.exists()?) || files::make_dir(dir).is_err() {
            return Ok(None);
        }
        lock(&dir.join(TURN), LOCK_WAIT).map(Some).map_err(|(path, why)| busy(&path, &why))
    }

    fn exists(&self) -> Result<bool> {
        let dir = self.root.dir();
        dir.try_exists().map_err(|why| Error::unreadable(dir, why))
    }

    fn session(&self, lock: Option<File>) -> Session<'_> {
        Session { store: self, lock, now: self.clock.now() }
    }
}

const LOCK: &str = "lock";
const TURN: &str = "turn";
const AGENTS: &str = "agents";

fn is_read_only(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn busy(path: &Path, why: &io::Error) -> Error {
    match why.kind() {
        io::ErrorKind::TimedOut => {
            let message = "Another command holds the store's lock. Nothing was changed; try again.";
            Error::new(Code::IoWriteFailed, message).with_reason(Reason::StoreBusy)
        }
        _ => Error::unwritable(path, why),
    }
}

/// Takes the kernel's file lock, which is released when its holder dies.
fn lock(path: &Path, wait: Duration) -> Result<File, (PathBuf, io::Error)> {
    let locked = open_to_lock(path, 0o666).and_then(|file| lock_within(file, wait));
    let held = locked.and_then(|held| held.ok_or_else(|| io::ErrorKind::TimedOut.into()));
    held.map_err(|why| (path.to_path_buf(), why))
}

/// One operation on the store; `now` is the same throughout.
#[derive(Debug)]
pub struct Session<'a> {
    store: &'a Store,
    lock: Option<File>,
    pub now: Moment,
}

impl Session<'_> {
    pub(super) fn path(&self, parts: &[&str]) -> PathBuf {
        parts.iter().fold(self.store.root.dir().to_path_buf(), |path, part| path.join(part))
    }

    fn agent_path(&self, id: &AgentId) -> PathBuf {
        self.path(&[AGENTS, &format!("{id}.json")])
    }

    pub(super) fn index_path(&self, id: &MessageId) -> PathBuf {
        self.path(&["messages", "index", &format!("{id}.json")])
    }

    pub(super) fn inbox_path(&self, id: &AgentId) -> PathBuf {
        self.path(&["messages", &format!("{id}.jsonl")])
    }

    fn active_path(&self) -> PathBuf {
        self.path(&["reservations", "active.json"])
    }

    pub(super) fn history_path(&self) -> PathBuf {
        self.path(&["reservations", "history.jsonl"])
    }

    /// Returns whether to write: false in a preview, an error if the session does not hold the lock.
    pub(super) fn check_writable(&self) -> Result<bool> {
        if self.lock.is_none() && !self.store.preview {
            return Err(Error::unwritable(
                self.store.root.dir(),
                "the store was created just now; try again",
            ));
        }
        Ok(!self.store.preview)
    }

    // Agents

    pub fn find_agent(&self, id: &AgentId) -> Result<Option<Agent>> {
        let path = self.agent_path(id);
        let found: Option<Agent> = files::read_json(&path)?;
        match found {
            Some(agent) if agent.agent_id != *id => Err(Error::damaged(&path, "it is about another agent")),
            found => Ok(found),
        }
    }

    pub fn agent(&self, id: &AgentId) -> Result<Agent> {
        self.find_agent(id)?.ok_or_else(|| id.not_found())
    }

    /// Returns the agent that runs this command and updates when it was last seen. Fails if it is not
    /// registered.
    pub fn mark_seen(&self, id: &AgentId) -> Result<Agent> {
        let mut agent = self.agent(id)?;
        // Without the lock nothing may be written.
        if agent.last_seen_at < self.now && self.lock.is_some() {
            agent.last_seen_at = self.now;
            self.save_agent(&agent)?;
        }
        Ok(agent)
    }

    /// Updates when the agent in `BB_AGENT` was last seen, if that is possible. For commands that do not name
    /// their caller.
    pub fn mark_caller_seen(&self) {
        if let Some(id) = &self.store.caller {
            drop(self.mark_seen(id));
        }
    }

    /// Returns the ids of all agents, from the names of their files.
    pub fn agent_ids(&self) -> Result<Vec<AgentId>> {
        let mut ids = self.names(&self.path(&[AGENTS]), ".json")?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns all agents, ordered by id.
    pub fn agents(&self) -> Result<Vec<Agent>> {
        self.agent_ids()?.iter().filter_map(|id| self.find_agent(id).transpose()).collect()
    }

    pub fn save_agent(&self, agent: &Agent) -> Result<()> {
        if !self.check_writable()? {
            return Ok(());
        }
        files::write_json(&self.agent_path(&agent.agent_id), agent)
    }

    /// Returns the agent ids that the files in a directory are named after.
    fn names(&self, dir: &Path, suffix: &str) -> Result<Vec<AgentId>> {
        let entries = match fs::read_dir(dir) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|why| Error::unreadable(dir, why))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(|why| Error::unreadable(dir, why))?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(suffix));
            ids.extend(id.and_then(|id| AgentId::parse(id).ok()));
        }
        Ok(ids)
    }

    // Messages

    pub fn find_message(&self, id: &MessageId) -> Result<Option<Message>> {
        let path = self.index_path(id);
        let found: Option<Message> = files::read_json(&path)?;
        match found {
            Some(message) if message.message_id != *id => {
                Err(Error::damaged(&path, "it is about another message"))
            }
            found => Ok(found),
        }
    }

    pub fn save_message(&self, message: &Message) -> Result<()> {
        if !self.check_writable()? {
            return Ok(());
        }
        files::write_json(&self.index_path(&message.message_id), message)
    }

    /// Returns the messages to an agent as they were sent, oldest first.
    pub fn sent_to(&self, id: &AgentId) -> Result<Vec<Message>> {
        let path = self.inbox_path(id);
        let (sent, bad) = files::read_log(&path)?;
        for BadLine { line, why } in bad {
            let file = path.display();
            self.store.warn(format!("line {line} of {file} cannot be read and was skipped: {why}"));
        }
        Ok(sent)
    }

    /// Returns the current state of these messages, skipping those whose files cannot be read.
    pub fn readable<'a>(
        &'a self,
        sent: impl IntoIterator<Item = &'a Message>,
    ) -> impl Iterator<Item = Message> {
        sent.into_iter().filter_map(|sent| match self.current(sent) {
            Ok(message) => Some(message),
            Err(failed) => {
                self.store.warn(format!("message {} was skipped: {}", sent.message_id, failed.message));
                None
            }
        })
    }

    /// Returns the current state of a message.
    pub fn current(&self, sent: &Message) -> Result<Message> {
        let missing = || Error::damaged(&self.index_path(&sent.message_id), "it is missing");
        self.find_message(&sent.message_id)?.ok_or_else(missing)
    }

    /// Returns every agent that ever got a message.
    pub fn recipients(&self) -> Result<Vec<AgentId>> {
        let mut ids = self.names(&self.path(&["messages"]), ".jsonl")?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// Mints a message id that is unused, also with each of these recipients appended.
    pub fn mint_message_id(&self, copies: &[AgentId]) -> Result<MessageId> {
        let taken = |id: &str| {
            let id = MessageId::parse(id)?;
            let mut ids = vec![id.clone()];
            for recipient in copies {
                ids.push(id.copy_for(recipient)?);
            }
            Ok(ids.iter().any(|id| self.index_path(id).exists()))
        };
        MessageId::parse(&self.store.clock.mint(MessageId::PREFIX, self.now, taken)?)
    }

    /// Delivers all messages or none.
    pub fn deliver(&self, messages: Vec<Message>) -> Result<()> {
        self.commit(&Intent::Deliver(messages))
    }

    // Reservations

    /// Returns the reservations that were neither released nor taken over, including expired ones.
    pub fn reservations(&self) -> Result<Vec<Reservation>> {
        let file: Option<ActiveFile> = files::read_json(&self.active_path())?;
        Ok(file.unwrap_or_default().reservations)
    }

    /// Returns the reservations that ended, oldest first.
    pub fn history(&self) -> Result<Vec<Reservation>> {
        let path = self.history_path();
        let (ended, bad) = files::read_log(&path)?;
        match bad.first() {
            None => Ok(ended),
            Some(BadLine { line, why }) => Err(Error::damaged(&path, format!("line {line}: {why}"))),
        }
    }

    pub fn mint_reservation_id(&self, active: &[Reservation]) -> Result<String> {
        // A text search: parsing a long history for this would be slow.
        let past = files::read(&self.history_path(), LOG_MAX)?.unwrap_or_default();
        let past = String::from_utf8_lossy(&past);
        let taken = |id: &str| {
            let quoted = format!("\"{id}\"");
            Ok(past.contains(&quoted) || active.iter().any(|existing| existing.reservation_id == id))
        };
        self.store.clock.mint("res_", self.now, taken)
    }

    /// Replaces the active reservations and appends the `ended` ones to the history.
    pub fn set_reservations(&self, active: Vec<Reservation>, ended: Vec<Reservation>) -> Result<()> {
        if ended.is_empty() {
            return self.save_active(&active);
        }
        self.commit(&Intent::End { ended, active })
    }

    pub(super) fn save_active(&self, active: &[Reservation]) -> Result<()> {
        if !self.check_writable()? {
            return Ok(());
        }
        let path = self.active_path();
        let before: Option<ActiveFile> = files::read_json(&path)?;
        let unknown_fields = before.unwrap_or_default().unknown_fields;
        files::write_json(&path, &ActiveFile { reservations: active.to_vec(), unknown_fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_held_lock_times_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK);
        let held = lock(&path, Duration::ZERO).unwrap();
        let (_, why) = lock(&path, Duration::from_millis(5)).unwrap_err();
        let error = busy(&path, &why);
        assert_eq!((error.code, error.reason), (Code::IoWriteFailed, Some(Reason::StoreBusy)));
        drop(held);
        assert!(lock(&path, LOCK_WAIT).is_ok());
    }
}
