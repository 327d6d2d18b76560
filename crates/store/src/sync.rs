//! Synchronization with a remote: fetch → decode → join → encode → commit → compare-and-swap the local ref →
//! push. If another machine pushed first, start over.

use beads_core::State;
use beads_core::limits::{MAX_MERGED_FILE_BYTES, MAX_MERGED_LINE_BYTES};
use beads_core::planted::{Bug, is_planted};

use crate::archive::ArchiveRemote;
use crate::checkpoint::{Checkpoint, Saved, state_of};
use crate::remote::{Pushed, Remote};
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result};

/// How often a sync tries again after losing a race.
pub const MAX_ROUNDS: u32 = 10;

/// After this many failed pushes while the remote's ref stayed in place, the remote refuses to move the ref
/// and no race was lost. A single such push may have collided with another one.
const MAX_UNMOVED: u32 = 3;

/// The failed pushes of one exchange.
#[derive(Debug, Default)]
struct FailedPushes {
    /// Where the remote's ref was before the last one.
    expected: Option<Option<CommitId>>,
    unmoved: u32,
    /// Nothing is pushed.
    fetch_only: bool,
    /// The commit pushed last. It may have arrived although the remote then showed a later one.
    offered: Option<CommitId>,
}

impl FailedPushes {
    /// Returns whether the remote refuses pushes, as opposed to other machines pushing first.
    fn is_refusal(&self) -> bool {
        self.unmoved >= MAX_UNMOVED
    }

    fn pushing(&mut self, expected: Option<&str>, new: &str) {
        let expected = Some(expected.map(str::to_owned));
        self.unmoved = if self.expected == expected { self.unmoved + 1 } else { 1 };
        (self.expected, self.offered) = (expected, Some(new.to_owned()));
    }
}

/// How our commit compares with the remote's after a fetch.
#[derive(Debug)]
enum Comparison {
    /// Both sides are at the same commit.
    Equal,
    /// Ours has more than the remote's commit, which is this one, if any.
    Ahead(Option<CommitId>),
}

/// The result of an exchange with a remote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Whether changes of others arrived here.
    pub pulled: bool,
    /// Whether our changes arrived at the remote.
    pub pushed: bool,
    /// How many rounds of fetch and push it took.
    pub rounds: u32,
    /// How many concurrent writes were found and recorded as conflicts.
    pub conflicts: usize,
    /// Whether the remote had a store before this exchange.
    pub found: bool,
    /// The last commit of others that arrived here.
    pub theirs: Option<CommitId>,
}

impl Checkpoint {
    /// Saves locally, then exchanges changes with the remote until both have the same commit.
    ///
    /// The local save stands even if the exchange fails. `pause` waits before the next round after a lost
    /// race; its argument is the number of rounds so far.
    pub fn sync(
        mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        mut pause: impl FnMut(u32),
    ) -> Result<(Saved, Result<Exchange>)> {
        let mut done = Exchange::default();
        // In the first sync of an empty replica, the remote's commit becomes ours without a commit of our
        // own. A replica with changes must commit them first, so that concurrent writes can be detected.
        let is_first = repository.tip()?.is_none() && repository.tracked()?.is_empty();
        let mut adopted = Ok(());
        if is_first && self.state == State::default() {
            adopted = self.adopt(repository, remote, &mut done);
        }
        let mut commit = self.save_local(repository)?;
        let mut failed = FailedPushes::default();
        let outcome = loop {
            if let Err(error) = std::mem::replace(&mut adopted, Ok(())) {
                // The remote has just failed. Asking again would only take as long again.
                break Err(error);
            }
            done.rounds += 1;
            match self.round(repository, remote, &mut commit, &mut done, &mut failed) {
                Ok(Pushed::Done) => break Ok(done),
                Ok(Pushed::Lost(reason)) if failed.is_refusal() => {
                    break Err(Error::PushRefused { remote: remote.name().to_owned(), reason });
                }
                Ok(Pushed::Lost(_)) if done.rounds >= MAX_ROUNDS => break Err(Error::Contention(MAX_ROUNDS)),
                Ok(Pushed::Lost(_)) => pause(done.rounds),
                // Another program moved the local ref in the meantime.
                Err(Error::RefMoved(_)) if done.rounds < MAX_ROUNDS => {
                    commit = self.save_local(repository)?;
                }
                Err(error) => break Err(error),
            }
        };
        let commit = self.confirm(repository, commit)?;
        Ok((self.into_saved(commit), outcome))
    }

    /// Joins the remote's state before there is a local ref. The first round reports an invalid commit.
    fn adopt(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        done: &mut Exchange,
    ) -> Result<()> {
        let Some(theirs) = remote.fetch()? else { return Ok(()) };
        let Ok(state) = state_of(repository, &theirs) else { return Ok(()) };
        self.keep_initial_state();
        self.state.join(&state);
        done.found = true;
        done.pulled = true;
        done.theirs = Some(theirs);
        Ok(())
    }

    /// Saves locally and merges the remote's changes. Pushes nothing, so it cannot lose a race.
    pub fn fetch(
        mut self,
        repository: &impl Repository,
        remote: &impl Remote,
    ) -> Result<(Saved, Result<Exchange>)> {
        let mut done = Exchange { rounds: 1, ..Exchange::default() };
        let mut commit = self.save_local(repository)?;
        let outcome = loop {
            let failed = FailedPushes { fetch_only: true, ..FailedPushes::default() };
            match self.catch_up(repository, remote, &mut commit, &mut done, &failed) {
                Ok(_) => break Ok(done),
                // Another program moved the local ref in the meantime.
                Err(Error::RefMoved(_)) if done.rounds < MAX_ROUNDS => {
                    done.rounds += 1;
                    commit = self.save_local(repository)?;
                }
                Err(error) => break Err(error),
            }
        };
        let commit = self.confirm(repository, commit)?;
        Ok((self.into_saved(commit), outcome))
    }

    /// Fetches, merges and pushes once. Updates `commit` to the merged commit.
    fn round(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        commit: &mut CommitId,
        done: &mut Exchange,
        failed: &mut FailedPushes,
    ) -> Result<Pushed> {
        match self.catch_up(repository, remote, commit, done, failed)? {
            Comparison::Equal => Ok(Pushed::Done),
            Comparison::Ahead(theirs) => {
                failed.pushing(theirs.as_deref(), commit);
                self.push(repository, remote, theirs.as_deref(), commit, done)
            }
        }
    }

    /// Fetches, and merges new changes. Updates `commit` to the merged commit.
    fn catch_up(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        commit: &mut CommitId,
        done: &mut Exchange,
        failed: &FailedPushes,
    ) -> Result<Comparison> {
        let archive = ArchiveRemote { remote, may_push: !failed.fetch_only };
        let Some(theirs) = remote.fetch()? else {
            // The archive comes first: a store without it would lack the content of its archived beads.
            let is_hollow = self.state.archived().any(|(_, bead)| bead.is_hollow());
            if remote.may_create_store() && self.settle_archive(repository, archive, is_hollow)? {
                *commit = self.save_local(repository)?;
            }
            return Ok(Comparison::Ahead(None));
        };
        let invalid = |reason| Error::RemoteInvalid { commit: theirs.clone(), reason };
        repository.vet(&theirs, commit).map_err(invalid)?;
        if let Some(offered) = &failed.offered {
            // Our push did arrive if another replica built on it.
            done.pushed |= repository.is_ancestor(offered, &theirs)?;
        }
        done.found |= !done.pushed;
        if theirs == *commit || repository.is_ancestor(&theirs, commit)? {
            if self.settle_archive(repository, archive, false)? {
                *commit = self.save_local(repository)?;
            }
        } else {
            let before = (self.state.clone(), self.initial_state.clone());
            let merged = match self.merge(repository, archive, &theirs, commit, done) {
                Ok(merged) => merged,
                Err(error) => {
                    // Their changes must not reach memory before the ref holds them.
                    if !is_planted(Bug::FailedMergeKept) {
                        (self.state, self.initial_state) = before;
                    }
                    return Err(error);
                }
            };
            let fast_forwarded = merged == theirs;
            *commit = merged;
            if fast_forwarded {
                return Ok(Comparison::Equal);
            }
        }
        if theirs == *commit {
            return Ok(Comparison::Equal);
        }
        Ok(Comparison::Ahead(Some(theirs)))
    }

    /// Pushes, and reads back the saved commit in the meantime. If reading fails, `confirm` tries again and
    /// reports it.
    fn push(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        expected: Option<&str>,
        commit: &str,
        done: &mut Exchange,
    ) -> Result<Pushed> {
        let pushed = remote.push_while(expected, commit, &mut || {
            let _ = self.read_back(repository);
        })?;
        done.pushed |= pushed == Pushed::Done;
        Ok(pushed)
    }

    /// Joins their state into ours and moves the local ref: to their commit if it holds everything, else to a
    /// merge commit.
    fn merge(
        &mut self,
        repository: &impl Repository,
        archive: ArchiveRemote<'_>,
        theirs: &str,
        commit: &str,
        done: &mut Exchange,
    ) -> Result<CommitId> {
        let invalid = |error: Error| match error {
            Error::EarlierFormat { commit, .. } => Error::EarlierFormat { commit, remote: true },
            error => Error::RemoteInvalid { commit: theirs.to_owned(), reason: error.to_string() },
        };
        let their_state = state_of(repository, theirs).map_err(invalid)?;
        let base = repository.merge_base(commit, theirs)?;
        let ours = &self.state;
        // A remote without common history may be a new one, which lacks our archive.
        let unknown = base.is_none()
            || their_state.archived().any(|(lineage, bead)| bead.is_hollow() && ours.bead(lineage).is_none());
        if their_state.lacks_content_of(ours) || ours.lacks_content_of(&their_state) {
            self.fetch_archive(repository, archive)?;
        }
        done.conflicts += self.join(repository, &their_state, base.as_deref());
        done.pulled = true;
        done.theirs = Some(theirs.to_owned());
        self.settle_archive(repository, archive, unknown)?;
        let snapshot = self.encode();
        if let Some(reason) = snapshot.find_oversized(MAX_MERGED_LINE_BYTES, MAX_MERGED_FILE_BYTES) {
            let reason = format!("joined with the local state, {reason}");
            return Err(Error::RemoteInvalid { commit: theirs.to_owned(), reason });
        }
        let is_theirs = repository.holds(theirs, &snapshot)?;
        let target = if is_theirs {
            theirs.to_owned()
        } else {
            repository.write(&snapshot, &[commit.to_owned(), theirs.to_owned()], "beads: merge")?
        };
        for _ in 0..MAX_ROUNDS {
            if repository.compare_and_swap_ref(Some(commit), &target)? {
                self.known_tip = Some(target.clone());
                self.unhealed_on_ref = self.state.unhealed().clone();
                if is_theirs {
                    self.give_back(snapshot);
                } else {
                    // It contains our previous commit, so reading it back is enough.
                    self.written = Some((target.clone(), snapshot));
                }
                return Ok(target);
            }
            // A lock that a killed process left is gone by now. If the ref is elsewhere, another program
            // moved it.
            if repository.tip()?.as_deref() != Some(commit) {
                break;
            }
        }
        Err(Error::RefMoved(REF))
    }
}
