//! Handles a repository that was replaced while its store was open: writes the state to a rescue file.

use std::path::PathBuf;

use beads_store::{RescueHeader, StoreChange, default_remote, remote_fingerprint};

use super::Service;
use super::sync::NO_REMOTE;
use crate::failure::{Code, Failure};
use crate::journal_end;
use crate::rescued;

impl Service {
    /// Checks whether this is still the store that was opened.
    pub fn store_change(&mut self) -> StoreChange {
        match self.identity.check() {
            StoreChange::Touched => match self.replica.journal_is_intact() {
                Some(true) => {
                    // Only its time differs, for example after a backup program restored it.
                    self.identity.accept();
                    StoreChange::Unchanged
                }
                Some(false) => StoreChange::Replaced,
                // It is checked again before the next answer.
                None => StoreChange::Unchanged,
            },
            change => change,
        }
    }

    /// Fails if this is no longer the store that was opened. A command without a daemon calls it before it
    /// reports success.
    pub fn check_identity(&mut self) -> Result<(), Failure> {
        match self.store_change() {
            StoreChange::Unchanged | StoreChange::Touched => Ok(()),
            change => Err(self.handle_replaced(change)),
        }
    }

    /// Records where the journal ends, if it has unsaved changes, so that the next process can check it.
    pub fn note_journal_end(&self) {
        let unsaved = self.replica.unsaved().records;
        if unsaved > 0 {
            journal_end::record(&self.place, self.replica.journal_end().into(), unsaved);
        }
    }

    /// Looks up which remote this store belongs to, for a rescue file.
    pub fn note_remote(&mut self) {
        let name = match self.config.get("sync.remote").unwrap_or_default() {
            NO_REMOTE => None,
            "" => default_remote(&self.place.git_dir).ok().flatten(),
            name => Some(name.to_owned()),
        };
        self.remote = name.and_then(|name| remote_fingerprint(&self.place.git_dir, &name));
    }

    /// Saves unsaved changes to a rescue file, and returns the failure that reports it.
    pub fn handle_replaced(&mut self, change: StoreChange) -> Failure {
        let path = self.place.git_dir.display().to_string();
        let what = match change {
            StoreChange::Moved => "was moved",
            _ => "was replaced or deleted",
        };
        let (rescue, advice) = match self.rescue(change) {
            Ok(Some(file)) => {
                let advice =
                    format!("unsaved changes are in {}; merge them with bd import --rescued", file.display());
                (Some(file), advice)
            }
            Ok(None) => (None, "everything acknowledged is saved; run the command again".to_owned()),
            Err(failure) => {
                (None, format!("unsaved changes could not be saved to a rescue file: {}", failure.message))
            }
        };
        let message = format!("the repository {path} {what} while its store was open; {advice}");
        crate::log::note(&message);
        Failure::new(Code::StoreReplaced, message)
            .with(serde_json::json!({"git_dir": path, "rescue_file": rescue}))
    }

    /// Writes a rescue file, unless the whole store was moved or the remote has all changes.
    fn rescue(&mut self, change: StoreChange) -> Result<Option<PathBuf>, Failure> {
        let (position, pushed_position) = (self.replica.position(), self.sync_state.pushed_position);
        if change == StoreChange::Moved || position == 0 || pushed_position >= position {
            return Ok(None);
        }
        let header = RescueHeader {
            version: 0,
            git_dir: self.place.git_dir.to_string_lossy().into_owned(),
            at_ms: self.replica.now_ms(),
            position,
            pushed_position,
            base: self.replica.known_tip().map(str::to_owned),
            remote: self.remote.clone(),
        };
        rescued::write(&self.place, &header, self.replica.catalog().state()).map(Some)
    }
}
