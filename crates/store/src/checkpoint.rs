//! Saving the state to the sync ref.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_core::limits::{MAX_DECODED_LINE_BYTES, MAX_FILE_BYTES};
use beads_core::planted::{Bug, is_planted};
use beads_core::{Encoder, Lineage, Snapshot, State, concurrent_writes};

use crate::archive::read_archive;
use crate::repository::{CommitId, REF, Repository};
use crate::take_foreign::HubWrites;
use crate::{Error, Result};

/// How often saving is retried if another program moves the ref.
const MAX_ROUNDS: usize = 10;

/// From this size on, the encoder keeps no lines that the state holds as well: saving a smaller store should
/// cost what changed, and a larger one should not need its size in memory twice.
const MIN_DROPPED_BYTES: usize = 16 * 1024 * 1024;

/// A snapshot of the state, to be saved to the ref while the replica continues to take mutations.
///
/// [`Replica::begin_checkpoint`](crate::Replica::begin_checkpoint) returns one.
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) state: State,
    /// The message of the commit.
    pub(crate) message: String,
    /// The state at the beginning, once others' changes were joined and `state` holds more than memory does.
    pub(crate) initial_state: Option<State>,
    /// The writes that went through the hub.
    pub(crate) hub_writes: HubWrites,
    /// Where the ref was when the replica last looked.
    pub(crate) known_tip: Option<CommitId>,
    /// The last commit whose whole content this replica had seen.
    pub(crate) base_commit: Option<CommitId>,
    /// Encodes the state. It is shared with later checkpoints, which differ from this one in a few lines.
    pub(crate) encoder: Arc<Mutex<Encoder>>,
    /// The commit that the ref was moved to, until it has been read back.
    pub(crate) written: Option<(CommitId, Snapshot)>,
    /// The archive, as it was seen where the store is kept, once it was exchanged.
    pub(crate) archive: Option<State>,
    /// The archive in this repository before that exchange: what writers here may have known of it.
    pub(crate) archive_before: Option<State>,
    /// The beads that the state on the ref may have without something that the archive has.
    pub(crate) unhealed_on_ref: BTreeSet<Lineage>,
    pub(crate) keep_segment: u64,
}

/// A checkpoint that is on the ref. Pass it to
/// [`Replica::finish_checkpoint`](crate::Replica::finish_checkpoint).
#[derive(Debug)]
pub struct Saved {
    /// The commit that holds the checkpoint.
    pub commit: CommitId,
    /// Set if the ref holds more than the checkpoint did.
    pub(crate) merged: Option<Merged>,
    /// The archive, if it was exchanged.
    pub(crate) archive: Option<SeenArchive>,
    pub(crate) keep_segment: u64,
}

/// The archive as it was seen where the store is kept, and as it was in this repository before.
#[derive(Debug)]
pub(crate) struct SeenArchive {
    pub(crate) now: State,
    pub(crate) before: State,
}

/// The state on the ref, and the state of the checkpoint at its beginning.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) state: State,
    pub(crate) initial_state: State,
}

impl Saved {
    /// Returns whether changes of others were merged.
    pub fn has_merged_changes(&self) -> bool {
        self.merged.is_some()
    }
}

impl Checkpoint {
    /// Commits the state and moves the ref. Joins any commit that another program put there.
    pub fn save(mut self, repository: &impl Repository) -> Result<Saved> {
        let commit = self.save_local(repository)?;
        let commit = self.confirm(repository, commit)?;
        Ok(self.into_saved(commit))
    }

    /// Reads back the saved commit, checks that the ref contains it, and records it. Only then may the
    /// journal be trimmed. If the ref was moved away in the meantime, it is moved again.
    pub(crate) fn confirm(&mut self, repository: &impl Repository, mut commit: CommitId) -> Result<CommitId> {
        if is_planted(Bug::TrimBehindLostRef) {
            self.read_back(repository)?;
            return Ok(commit);
        }
        for _ in 0..MAX_ROUNDS {
            if let Err(error) = self.read_back(repository) {
                commit = self.write_again(repository, &commit).ok_or(error)?;
                continue;
            }
            let tip = repository.tip()?;
            if contains(repository, tip.as_ref(), &commit)? {
                repository.record_saved(&commit)?;
                self.record_unhealed(repository)?;
                let mut encoder = self.lock_encoder();
                repository.cache_state(&commit, &encoder);
                encoder.drop_copies(MIN_DROPPED_BYTES);
                drop(encoder);
                return Ok(commit);
            }
            commit = self.save_local(repository)?;
        }
        Err(Error::RefMoved(REF))
    }

    /// Reads back the written commit. The journal may only be trimmed of what can be read again.
    pub(crate) fn read_back(&mut self, repository: &impl Repository) -> Result<()> {
        if let Some((commit, snapshot)) = &self.written
            && !repository.holds(commit, snapshot)?
        {
            return Err(Error::RefMoved(REF));
        }
        if let Some((_, snapshot)) = self.written.take() {
            self.give_back(snapshot);
        }
        Ok(())
    }

    /// Returns the files of the state.
    pub(crate) fn encode(&self) -> Snapshot {
        let previous = self.written.as_ref().map(|(_, snapshot)| snapshot);
        self.lock_encoder().encode(&self.state, previous)
    }

    /// Returns files that are no longer needed to the encoder, for the next checkpoint.
    pub(crate) fn give_back(&self, snapshot: Snapshot) {
        self.lock_encoder().give_back(snapshot);
    }

    fn lock_encoder(&self) -> MutexGuard<'_, Encoder> {
        // After a panic the encoder remembers nothing, so it encodes everything.
        self.encoder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces a commit on the ref whose objects git collected as garbage before the ref pointed at them.
    /// The new commit builds on the commits recorded before. Returns `None` if that is not what happened, or
    /// if it cannot be done.
    fn write_again(&mut self, repository: &impl Repository, commit: &str) -> Option<CommitId> {
        let (lost, snapshot) = self.written.take()?;
        if lost != commit || repository.snapshot(commit).is_ok() {
            self.written = Some((lost, snapshot));
            return None;
        }
        let mut parents = repository.saved().ok()?;
        parents.extend(repository.tracked().ok()?);
        parents
            .retain(|parent| state_of(repository, parent).is_ok_and(|state| is_within(&state, &self.state)));
        let again = repository.write(&snapshot, &parents, &self.message).ok()?;
        if !repository.compare_and_swap_ref(Some(commit), &again).ok()? {
            return None;
        }
        self.known_tip = Some(again.clone());
        self.written = Some((again.clone(), snapshot));
        Some(again)
    }

    pub(crate) fn into_saved(self, commit: CommitId) -> Saved {
        Saved {
            commit,
            merged: self.initial_state.map(|initial_state| Merged { state: self.state, initial_state }),
            archive: self.archive.zip(self.archive_before).map(|(now, before)| SeenArchive { now, before }),
            keep_segment: self.keep_segment,
        }
    }

    /// Copies the state before the first changes of others are joined. Beginning a checkpoint blocks all
    /// requests, so the copy is not made there.
    pub(crate) fn keep_initial_state(&mut self) {
        self.initial_state.get_or_insert_with(|| self.state.clone());
    }

    /// Joins a state of others and records the values that lost to concurrent writes. Returns their number.
    pub(crate) fn join(&mut self, repository: &impl Repository, theirs: &State, base: Option<&str>) -> usize {
        // An unreadable base counts as none: it only helps to tell which writes were concurrent.
        let mut agreed = base.and_then(|base| state_of(repository, base).ok());
        self.keep_initial_state();
        let mut theirs = theirs.clone();
        let thawed = self.thaw_both(repository, &mut theirs, agreed.as_mut());
        let mut conflicts = concurrent_writes(&self.state, &theirs, agreed.as_ref());
        self.hub_writes.filter(&mut conflicts);
        self.state.join(&theirs);
        if self.archive.is_some() {
            // They were compared with all that the archive has, so there is nothing left to heal.
            self.state.note_healed(&thawed);
        }
        conflicts.iter().for_each(|conflict| self.state.join_conflict(conflict));
        conflicts.len()
    }

    /// Gives beads that are hollow on one side of a merge their content, so that their writes can be compared.
    /// Returns those that have it now.
    fn thaw_both(
        &mut self,
        repository: &impl Repository,
        theirs: &mut State,
        agreed: Option<&mut State>,
    ) -> BTreeSet<Lineage> {
        if !theirs.lacks_content_of(&self.state) && !self.state.lacks_content_of(theirs) {
            return BTreeSet::new();
        }
        let archive = match &self.archive {
            Some(archive) => archive,
            None => &read_archive(repository).unwrap_or_default(),
        };
        let mut thawed = theirs.thaw_against(&self.state, archive);
        thawed.append(&mut self.state.thaw_against(theirs, archive));
        if let Some(agreed) = agreed {
            // The archive as this replica knew it: what it has learned since was written meanwhile.
            agreed.thaw_against(theirs, self.archive_before.as_ref().unwrap_or(archive));
        }
        thawed
    }

    /// Returns a commit that holds the state and is on the ref. Makes none if the ref, or a remote's ref that
    /// a clone fetched, already holds exactly this state. The commit still has to be read back.
    pub(crate) fn save_local(&mut self, repository: &impl Repository) -> Result<CommitId> {
        for _ in 0..MAX_ROUNDS {
            let tip = repository.tip()?;
            if tip != self.known_tip
                && let Some(tip) = &tip
            {
                let theirs = state_of(repository, tip)?;
                let agreed = match self.base_commit.replace(tip.clone()) {
                    Some(seen) => repository.merge_base(&seen, tip)?,
                    None => None,
                };
                self.join(repository, &theirs, agreed.as_deref());
            }
            let lost = self.join_lost(repository, tip.as_ref())?;
            let fetched = if tip.is_none() { self.join_tracked(repository)? } else { Vec::new() };
            self.heal_before_saving(repository)?;
            let unhealed = self.state.unhealed().clone();
            let snapshot = self.encode();
            if let Some(reason) = snapshot.find_oversized(MAX_DECODED_LINE_BYTES, MAX_FILE_BYTES) {
                return Err(Error::TooLargeToSave(reason));
            }
            if let Some(tip) = &tip
                && repository.holds(tip, &snapshot)?
            {
                repository.sync_ref()?;
                self.known_tip = Some(tip.clone());
                self.unhealed_on_ref = unhealed;
                self.give_back(snapshot);
                return Ok(tip.clone());
            }
            let mut parents: Vec<CommitId> = tip.iter().cloned().collect();
            let mut ready_made = None;
            if tip.is_none() {
                for tracked in &fetched {
                    if ready_made.is_none() && repository.holds(tracked, &snapshot)? {
                        ready_made = Some(tracked.clone());
                    }
                }
                parents = fetched;
            }
            parents.extend(lost.into_iter().filter(|lost| !parents.contains(lost)).collect::<Vec<_>>());
            let commit = match ready_made {
                Some(commit) => commit,
                None => repository.write(&snapshot, &parents, &self.message)?,
            };
            if repository.compare_and_swap_ref(tip.as_deref(), &commit)? {
                self.known_tip = Some(commit.clone());
                self.unhealed_on_ref = unhealed;
                self.written = Some((commit.clone(), snapshot));
                return Ok(commit);
            }
            self.known_tip = tip;
        }
        Err(Error::RefMoved(REF))
    }

    /// Joins the saved commits that the ref no longer contains because it was rewound, replaced or deleted.
    /// Returns them as further parents for the next commit.
    fn join_lost(&mut self, repository: &impl Repository, tip: Option<&CommitId>) -> Result<Vec<CommitId>> {
        let mut lost = Vec::new();
        for saved in repository.saved()? {
            if contains(repository, tip, &saved)? {
                continue;
            }
            // Opening the store reports commits that can no longer be read.
            let Ok(state) = state_of(repository, &saved) else { continue };
            let mut both = self.state.clone();
            both.join(&state);
            if both != self.state {
                self.join_since(repository, (&saved, &state))?;
            }
            lost.push(saved);
        }
        Ok(lost)
    }

    /// Joins others' commits that a clone or fetch fetched before there was a local ref, and returns them.
    ///
    /// A sync that failed later may have fetched them after the replica was opened, so a commit that builds
    /// on them must include their content. Unreadable commits do not become parents; the next exchange
    /// reports what is wrong with them.
    fn join_tracked(&mut self, repository: &impl Repository) -> Result<Vec<CommitId>> {
        let mut joined = Vec::new();
        for tracked in repository.tracked()? {
            let Ok(theirs) = state_of(repository, &tracked) else { continue };
            let mut both = self.state.clone();
            both.join(&theirs);
            if both != self.state && !is_planted(Bug::TrackedNotJoined) {
                self.join_since(repository, (&tracked, &theirs))?;
            }
            joined.push(tracked);
        }
        Ok(joined)
    }

    /// Joins a commit. Writes since the merge base with the last commit seen here are concurrent. That last
    /// commit cannot be the base itself: it may hold writes that the other commit does not know.
    fn join_since(&mut self, repository: &impl Repository, theirs: (&CommitId, &State)) -> Result<()> {
        let agreed = match &self.base_commit {
            Some(seen) => repository.merge_base(seen, theirs.0)?,
            None => None,
        };
        self.join(repository, theirs.1, agreed.as_deref());
        Ok(())
    }
}

/// Decodes the state of a commit.
pub(crate) fn state_of(repository: &impl Repository, commit: &str) -> Result<State> {
    Ok(repository.snapshot(commit)?.decode()?.state)
}

/// Returns whether `tip` is `commit` or descends from it.
pub(crate) fn contains(repository: &impl Repository, tip: Option<&CommitId>, commit: &str) -> Result<bool> {
    match tip {
        Some(tip) if tip == commit => Ok(true),
        Some(tip) => repository.is_ancestor(commit, tip),
        None => Ok(false),
    }
}

/// Returns whether `part` adds nothing to `whole`.
pub(crate) fn is_within(part: &State, whole: &State) -> bool {
    let mut both = whole.clone();
    both.join(part);
    both == *whole
}
