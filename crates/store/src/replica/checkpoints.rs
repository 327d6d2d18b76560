//! Checkpoints: from the state in memory to a commit on the ref, and back.

use std::collections::BTreeSet;

use beads_core::planted::{Bug, is_planted};
use beads_core::{Event, Lineage, concurrent_writes};

use super::{Replica, Unsaved};
use crate::changes::Changes;
use crate::checkpoint::{Checkpoint, Saved};
use crate::disk::Disk;
use crate::repository::Repository;
use crate::world::World;
use crate::{Error, Header, RefSync, Result};

impl<D: Disk, W: World> Replica<D, W> {
    /// Takes a snapshot of everything durable, to be saved to the ref, and starts a new journal segment.
    ///
    /// Pass the result to [`Checkpoint::save`] or [`Checkpoint::sync`], which may run in another thread, and
    /// then call [`finish_checkpoint`](Self::finish_checkpoint) or
    /// [`abandon_checkpoint`](Self::abandon_checkpoint).
    pub fn begin_checkpoint(&mut self) -> Result<Checkpoint> {
        self.commit()?;
        self.begin_events();
        // Receipts must be durable elsewhere before the journal is trimmed.
        self.receipts.write(self.journal.disk(), self.world.now_ms())?;
        if self.unsaved.records > 0 {
            self.ref_sync.ensure()?;
            self.journal.rotate(&self.header(self.position)?)?;
            self.base_commit_recorded = true;
        }
        if is_planted(Bug::TrimBeforeSaved) {
            self.journal.trim_before(self.journal.current_segment())?;
        }
        self.saving = self.unsaved();
        self.unsaved = Unsaved::default();
        self.saving_changes.append(&std::mem::take(&mut self.changes));
        Ok(Checkpoint {
            message: self.saving_changes.message(),
            state: self.catalog.state().clone(),
            initial_state: None,
            hub_writes: self.hub_writes.clone(),
            known_tip: self.known_tip.clone(),
            base_commit: self.base_commit.clone(),
            encoder: self.encoder.clone(),
            written: None,
            archive: None,
            archive_before: None,
            unhealed_on_ref: BTreeSet::new(),
            keep_segment: self.journal.current_segment(),
        })
    }

    /// Ends a checkpoint that was not saved. All its changes are still in the journal.
    pub fn abandon_checkpoint(&mut self) {
        self.unsaved = self.unsaved();
        self.saving = Unsaved::default();
        let later = std::mem::take(&mut self.changes);
        self.changes = std::mem::take(&mut self.saving_changes);
        self.changes.append(&later);
    }

    /// Ends a checkpoint that is on the ref: merges what the ref held beyond our own state into memory, and
    /// trims the journal.
    ///
    /// Memory changes only now, when the merged state is durable. `synced` are the events that report the
    /// exchange to watchers.
    pub fn finish_checkpoint(&mut self, saved: Saved, synced: Vec<Event>) -> Result<()> {
        // Saving has made the ref durable.
        self.ref_sync = RefSync::done();
        self.commit()?;
        let mut conflicts = Vec::new();
        if let Some(merged) = &saved.merged {
            // Writes made here since the checkpoint began may lose to the merged ones.
            let (mut theirs, mut agreed) = (merged.state.clone(), merged.initial_state.clone());
            if let Some(archive) = &saved.archive {
                theirs.thaw_against(self.catalog.state(), &archive.now);
                agreed.thaw_against(&theirs, &archive.before);
            }
            conflicts = concurrent_writes(self.catalog.state(), &theirs, Some(&agreed));
            let events = self.catalog.join_with_events(&theirs, self.world.now_ms());
            self.events.push(self.position, events);
            self.observe_stamps();
            if saved.archive.is_some() {
                // The merged state has all that the archive has of the beads that are complete in it.
                let is_complete = |bead: &&Lineage| theirs.bead(bead).is_some_and(|bead| !bead.is_hollow());
                let unhealed = self.catalog.state().unhealed();
                self.catalog.note_healed(&unhealed.iter().filter(is_complete).cloned().collect());
            }
        }
        if let Some(archive) = &saved.archive {
            conflicts.extend(self.catalog.state().conflicts_when_healed(&archive.now, &archive.before));
            self.catalog.heal(&archive.now);
            // What was written to such a bead meanwhile is not in the archive; then it keeps its content.
            self.catalog.hollow_out(&archive.now);
        }
        self.hub_writes.filter(&mut conflicts);
        self.events.push(self.position, synced);
        self.events.mark_durable();
        self.known_tip = Some(saved.commit);
        self.record_conflicts(conflicts)?;
        if self.base_commit != self.known_tip {
            self.base_commit.clone_from(&self.known_tip);
            self.base_commit_recorded = false;
            self.unrecorded_heads.clear();
        }
        self.saving = Unsaved::default();
        self.saving_changes = Changes::default();
        if self.unsaved.records > 0 && !self.base_commit_recorded {
            // The remaining segment already has records. Without a recorded base commit, opening the store
            // would treat them as concurrent with the changes that are trimmed now.
            if self.unsynced.is_empty() {
                self.queue_record("bd".parse()?, self.world.now_ms(), Default::default(), None);
            }
        }
        self.commit()?;
        // The events must be written before the journal is trimmed, because they could not be derived again.
        // If the log cannot be written now, the journal is kept; the checkpoint itself is done.
        if self.events.flush(self.journal.disk(), self.position, self.known_tip.clone()).is_err() {
            return Ok(());
        }
        self.journal.trim_before(saved.keep_segment)
    }

    /// Saves a checkpoint in this thread. Returns whether the ref moved.
    pub fn checkpoint(&mut self, repository: &impl Repository) -> Result<bool> {
        let before = self.known_tip.clone();
        let checkpoint = self.begin_checkpoint()?;
        self.save_checkpoint(checkpoint, repository)?;
        Ok(self.known_tip != before)
    }

    /// Saves a checkpoint that was begun before, in this thread.
    pub(crate) fn save_checkpoint(
        &mut self,
        checkpoint: Checkpoint,
        repository: &impl Repository,
    ) -> Result<()> {
        match checkpoint.save(repository) {
            Ok(saved) => self.finish_checkpoint(saved, Vec::new()),
            Err(error) => {
                self.abandon_checkpoint();
                Err(error)
            }
        }
    }

    /// Returns the version for a new segment. Records may use everything in the store's format, so programs
    /// that do not know that format must refuse the segment.
    pub(super) fn journal_version(&self) -> u32 {
        u32::try_from(self.catalog.state().format_version()).unwrap_or(u32::MAX)
    }

    pub(super) fn header(&self, position: u64) -> Result<Header> {
        let now_ms = self.world.now_ms();
        let last_operations = self.last_operations.to_carry(position, &self.unsynced);
        Ok(Header {
            version: self.journal_version(),
            position,
            last: self.clock.last(),
            receipts: self.receipts.short_lived(now_ms),
            last_operations: last_operations.map_err(|error| Error::JournalFailed(error.to_string()))?,
            base_commit: self.base_commit.clone(),
        })
    }
}
