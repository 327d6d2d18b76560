//! Writing the state to the sync ref.

use beads_core::limits::{MAX_DECODED_LINE_BYTES, MAX_FILE_BYTES};
use beads_core::planted::{Bug, is_planted};
use beads_core::{Snapshot, State, concurrent_writes};

use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result};

/// How often a ref that somebody else moves is merged with and tried again.
const MAX_ROUNDS: usize = 10;

/// A state set aside to be saved; the journal behind it goes on growing meanwhile.
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) state: State,
    /// The state as it was set aside, once something of others came in and `state` holds more than memory does.
    pub(crate) begun: Option<State>,
    /// Where the ref was when the replica last looked.
    pub(crate) base: Option<CommitId>,
    /// The last commit that this replica had seen whole.
    pub(crate) ground: Option<CommitId>,
    /// The commit that the ref was moved to, until it was read back.
    pub(crate) written: Option<(CommitId, Snapshot)>,
    pub(crate) keep_segment: u64,
}

/// A checkpoint that is on the ref.
#[derive(Debug)]
pub struct Saved {
    pub commit: CommitId,
    /// When the ref holds more than the checkpoint did.
    pub(crate) merged: Option<Merged>,
    pub(crate) keep_segment: u64,
}

/// The state on the ref, and the one that was set aside.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) state: State,
    pub(crate) begun: State,
}

impl Saved {
    /// Whether something of others came in with it.
    pub fn brought_something(&self) -> bool {
        self.merged.is_some()
    }
}

impl Checkpoint {
    /// Commits the state and moves the ref, joining with whatever else appeared there.
    pub fn save(mut self, repository: &impl Repository) -> Result<Saved> {
        let commit = self.save_local(repository)?;
        let commit = self.confirm(repository, commit)?;
        Ok(self.into_saved(commit))
    }

    /// Reads back what was saved and makes sure that the ref contains it, which is what the journal may be trimmed for. A
    /// ref that was moved away meanwhile gets it again. What the ref contained is recorded apart from it.
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
                return Ok(commit);
            }
            commit = self.save_local(repository)?;
        }
        Err(Error::RefMoved(REF))
    }

    /// Only what can be read again may be trimmed from the journal.
    pub(crate) fn read_back(&mut self, repository: &impl Repository) -> Result<()> {
        if let Some((commit, snapshot)) = &self.written
            && !repository.holds(commit, snapshot)?
        {
            return Err(Error::RefMoved(REF));
        }
        self.written = None;
        Ok(())
    }

    /// Replaces a commit on the ref whose objects git collected as garbage before the ref led to them. What it built on is
    /// what was recorded before. `None` when that is not what happened, or cannot be done.
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
        let again = repository.write(&snapshot, &parents, "beads").ok()?;
        if !repository.swing(Some(commit), &again).ok()? {
            return None;
        }
        self.base = Some(again.clone());
        self.written = Some((again.clone(), snapshot));
        Some(again)
    }

    pub(crate) fn into_saved(self, commit: CommitId) -> Saved {
        Saved {
            commit,
            merged: self.begun.map(|begun| Merged { state: self.state, begun }),
            keep_segment: self.keep_segment,
        }
    }

    /// Puts a copy of the state aside before the first of others comes in. Whoever sets a checkpoint aside keeps everybody
    /// waiting for it, so it is not copied there.
    pub(crate) fn remember(&mut self) {
        self.begun.get_or_insert_with(|| self.state.clone());
    }

    /// Joins what somebody else wrote, and keeps the values that lost against concurrent writes. Returns how many.
    pub(crate) fn join(&mut self, repository: &impl Repository, theirs: &State, base: Option<&str>) -> usize {
        // A base that cannot be read any more is as good as none: it only tells which writes were concurrent.
        let agreed = base.and_then(|base| state_of(repository, base).ok());
        let conflicts = concurrent_writes(&self.state, theirs, agreed.as_ref());
        self.remember();
        self.state.join(theirs);
        conflicts.iter().for_each(|conflict| self.state.join_conflict(conflict));
        conflicts.len()
    }

    /// The commit that holds the state. None is made when the ref, or a remote's ref that a clone brought along, holds
    /// exactly this state already. It remains to be read back.
    pub(crate) fn save_local(&mut self, repository: &impl Repository) -> Result<CommitId> {
        for _ in 0..MAX_ROUNDS {
            let tip = repository.tip()?;
            if tip != self.base
                && let Some(tip) = &tip
            {
                let theirs = state_of(repository, tip)?;
                let agreed = match self.ground.replace(tip.clone()) {
                    Some(seen) => repository.merge_base(&seen, tip)?,
                    None => None,
                };
                self.join(repository, &theirs, agreed.as_deref());
            }
            let lost = self.join_lost(repository, tip.as_ref())?;
            let brought = if tip.is_none() { self.join_tracked(repository)? } else { Vec::new() };
            let snapshot = self.state.encode();
            if let Some(reason) = snapshot.beyond(MAX_DECODED_LINE_BYTES, MAX_FILE_BYTES) {
                return Err(Error::TooLargeToSave(reason));
            }
            if let Some(tip) = &tip
                && repository.holds(tip, &snapshot)?
            {
                repository.settle()?;
                self.base = Some(tip.clone());
                return Ok(tip.clone());
            }
            let mut parents: Vec<CommitId> = tip.iter().cloned().collect();
            let mut ready_made = None;
            if tip.is_none() {
                for tracked in &brought {
                    if ready_made.is_none() && repository.holds(tracked, &snapshot)? {
                        ready_made = Some(tracked.clone());
                    }
                }
                parents = brought;
            }
            parents.extend(lost.into_iter().filter(|lost| !parents.contains(lost)).collect::<Vec<_>>());
            let commit = match ready_made {
                Some(commit) => commit,
                None => repository.write(&snapshot, &parents, "beads")?,
            };
            if repository.swing(tip.as_deref(), &commit)? {
                self.base = Some(commit.clone());
                self.written = Some((commit.clone(), snapshot));
                return Ok(commit);
            }
            self.base = tip;
        }
        Err(Error::RefMoved(REF))
    }

    /// Joins the commits that the ref should contain and does not, because it was rewound, replaced or deleted. Returns
    /// them: the next commit builds on them, too.
    fn join_lost(&mut self, repository: &impl Repository, tip: Option<&CommitId>) -> Result<Vec<CommitId>> {
        let mut lost = Vec::new();
        for saved in repository.saved()? {
            if contains(repository, tip, &saved)? {
                continue;
            }
            // One that cannot be read any more is reported when the store is opened.
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

    /// The commits of others that a clone or a fetch brought along before there was a ref of our own. They may have come
    /// after the replica was opened, by a sync that failed later on; so a commit that builds on them takes in what they
    /// hold first. One that cannot be read is nobody's parent, and the next exchange tells what is wrong with it.
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

    /// Joins a commit. Writes since it and the last commit seen here parted are concurrent. That commit itself is no base for
    /// this: it may hold writes that the other one does not know.
    fn join_since(&mut self, repository: &impl Repository, theirs: (&CommitId, &State)) -> Result<()> {
        let agreed = match &self.ground {
            Some(seen) => repository.merge_base(seen, theirs.0)?,
            None => None,
        };
        self.join(repository, theirs.1, agreed.as_deref());
        Ok(())
    }
}

pub(crate) fn state_of(repository: &impl Repository, commit: &str) -> Result<State> {
    Ok(repository.snapshot(commit)?.decode()?.state)
}

/// Whether a tip is at a commit or descends from it.
pub(crate) fn contains(repository: &impl Repository, tip: Option<&CommitId>, commit: &str) -> Result<bool> {
    match tip {
        Some(tip) if tip == commit => Ok(true),
        Some(tip) => repository.is_ancestor(commit, tip),
        None => Ok(false),
    }
}

/// Whether a state adds nothing to another one.
pub(crate) fn is_within(part: &State, whole: &State) -> bool {
    let mut both = whole.clone();
    both.join(part);
    both == *whole
}
