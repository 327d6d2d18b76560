//! Synchronisation: fetch → decode → join → encode → commit → compare-and-swap the local ref → push, and again if
//! somebody else was faster.

use beads_core::State;
use beads_core::limits::{MAX_MERGED_FILE_BYTES, MAX_MERGED_LINE_BYTES};
use beads_core::planted::{Bug, is_planted};

use crate::checkpoint::{Checkpoint, Saved, state_of};
use crate::remote::{Pushed, Remote};
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result};

/// How often a lost race is run again before the caller is told.
pub const MAX_ROUNDS: u32 = 10;

/// So many pushes that fail while the remote's ref stays where it is are no lost races: the remote keeps the ref from
/// moving. One such push may have met another one half-way.
const MAX_UNMOVED: u32 = 3;

/// The pushes of one exchange that did not arrive.
#[derive(Debug, Default)]
struct Losses {
    /// Where the remote's ref was before the last of them.
    expected: Option<Option<CommitId>>,
    unmoved: u32,
    /// The commit that was pushed last. It may be there although a later one was seen.
    offered: Option<CommitId>,
}

impl Losses {
    /// Whether the remote refuses, rather than others being faster.
    fn is_refusal(&self) -> bool {
        self.unmoved >= MAX_UNMOVED
    }

    fn pushing(&mut self, expected: Option<&str>, new: &str) {
        let expected = Some(expected.map(str::to_owned));
        self.unmoved = if self.expected == expected { self.unmoved + 1 } else { 1 };
        (self.expected, self.offered) = (expected, Some(new.to_owned()));
    }
}

/// Where our commit stands after a fetch.
#[derive(Debug)]
enum Met {
    /// Both sides are at the same commit.
    Equal,
    /// Ours has more than the remote's, which is this one, if there is any.
    Ahead(Option<CommitId>),
}

/// What an exchange with a remote did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Their changes came here.
    pub pulled: bool,
    /// Our changes went there.
    pub pushed: bool,
    pub rounds: u32,
    /// Concurrent writes that were found and kept.
    pub conflicts: usize,
    /// The last commit of others that came here.
    pub theirs: Option<CommitId>,
}

impl Checkpoint {
    /// Saves locally, then exchanges with the remote until both hold the same. What was saved stays saved when the
    /// exchange fails; `pause` waits before a race is run again.
    pub fn sync(
        mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        mut pause: impl FnMut(u32),
    ) -> Result<(Saved, Result<Exchange>)> {
        let mut done = Exchange::default();
        // The first sync of an empty replica: what the remote has becomes ours, without a commit of our own. Not so when
        // there is anything of ours: it must be on a commit first, so that what both sides wrote can be told.
        let is_first = repository.tip()?.is_none() && repository.tracked()?.is_empty();
        let mut adopted = Ok(());
        if is_first && self.state == State::default() {
            adopted = self.adopt(repository, remote, &mut done);
        }
        let mut commit = self.save_local(repository)?;
        let mut losses = Losses::default();
        let outcome = loop {
            if let Err(error) = std::mem::replace(&mut adopted, Ok(())) {
                // The remote just failed; asking it again would only take as long again.
                break Err(error);
            }
            done.rounds += 1;
            match self.round(repository, remote, &mut commit, &mut done, &mut losses) {
                Ok(Pushed::Done) => break Ok(done),
                Ok(Pushed::Lost(reason)) if losses.is_refusal() => {
                    break Err(Error::PushRefused { remote: remote.name().to_owned(), reason });
                }
                Ok(Pushed::Lost(_)) if done.rounds >= MAX_ROUNDS => break Err(Error::Contention(MAX_ROUNDS)),
                Ok(Pushed::Lost(_)) => pause(done.rounds),
                // Another program moved our own ref meanwhile.
                Err(Error::RefMoved(_)) if done.rounds < MAX_ROUNDS => {
                    commit = self.save_local(repository)?;
                }
                Err(error) => break Err(error),
            }
        };
        let commit = self.confirm(repository, commit)?;
        Ok((self.into_saved(commit), outcome))
    }

    /// Takes what the remote has before there is a local ref. A commit that cannot be used is reported by the first round.
    fn adopt(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        done: &mut Exchange,
    ) -> Result<()> {
        let Some(theirs) = remote.fetch()? else { return Ok(()) };
        let Ok(state) = state_of(repository, &theirs) else { return Ok(()) };
        self.remember();
        self.state.join(&state);
        done.pulled = true;
        done.theirs = Some(theirs);
        Ok(())
    }

    /// Saves locally and takes in what the remote has. Nothing is pushed, so no race can be lost.
    pub fn fetch(
        mut self,
        repository: &impl Repository,
        remote: &impl Remote,
    ) -> Result<(Saved, Result<Exchange>)> {
        let mut done = Exchange { rounds: 1, ..Exchange::default() };
        let mut commit = self.save_local(repository)?;
        let outcome = loop {
            match self.catch_up(repository, remote, &mut commit, &mut done, &Losses::default()) {
                Ok(_) => break Ok(done),
                // Another program moved our own ref meanwhile.
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

    /// One fetch, merge and push. Our commit moves along as it is merged.
    fn round(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        commit: &mut CommitId,
        done: &mut Exchange,
        losses: &mut Losses,
    ) -> Result<Pushed> {
        match self.catch_up(repository, remote, commit, done, losses)? {
            Met::Equal => Ok(Pushed::Done),
            Met::Ahead(theirs) => {
                losses.pushing(theirs.as_deref(), commit);
                self.push(repository, remote, theirs.as_deref(), commit, done)
            }
        }
    }

    /// Fetches, and merges what is new. Our commit moves along.
    fn catch_up(
        &mut self,
        repository: &impl Repository,
        remote: &impl Remote,
        commit: &mut CommitId,
        done: &mut Exchange,
        losses: &Losses,
    ) -> Result<Met> {
        let Some(theirs) = remote.fetch()? else { return Ok(Met::Ahead(None)) };
        let invalid = |reason| Error::RemoteInvalid { commit: theirs.clone(), reason };
        repository.vet(&theirs, commit).map_err(invalid)?;
        if let Some(offered) = &losses.offered {
            // What another replica builds on did arrive.
            done.pushed |= repository.is_ancestor(offered, &theirs)?;
        }
        if theirs == *commit {
            return Ok(Met::Equal);
        }
        if !repository.is_ancestor(&theirs, commit)? {
            let before = (self.state.clone(), self.begun.clone());
            let merged = match self.merge(repository, &theirs, commit, done) {
                Ok(merged) => merged,
                Err(error) => {
                    // Nothing of theirs may come into memory before the ref holds it.
                    if !is_planted(Bug::FailedMergeKept) {
                        (self.state, self.begun) = before;
                    }
                    return Err(error);
                }
            };
            let fast_forwarded = merged == theirs;
            *commit = merged;
            if fast_forwarded {
                return Ok(Met::Equal);
            }
        }
        Ok(Met::Ahead(Some(theirs)))
    }

    /// Pushes, and reads back meanwhile what was saved. If that fails it is tried again, and told, in the end.
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

    /// Joins their state into ours and moves the local ref there: to their own commit when it holds everything, else to
    /// a merge of both.
    fn merge(
        &mut self,
        repository: &impl Repository,
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
        done.conflicts += self.join(repository, &their_state, base.as_deref());
        done.pulled = true;
        done.theirs = Some(theirs.to_owned());
        let snapshot = self.state.encode();
        if let Some(reason) = snapshot.beyond(MAX_MERGED_LINE_BYTES, MAX_MERGED_FILE_BYTES) {
            let reason = format!("joined with what is here, {reason}");
            return Err(Error::RemoteInvalid { commit: theirs.to_owned(), reason });
        }
        let is_theirs = repository.holds(theirs, &snapshot)?;
        let target = if is_theirs {
            theirs.to_owned()
        } else {
            repository.write(&snapshot, &[commit.to_owned(), theirs.to_owned()], "beads: merge")?
        };
        for _ in 0..MAX_ROUNDS {
            if repository.swing(Some(commit), &target)? {
                self.base = Some(target.clone());
                if !is_theirs {
                    // It holds all that our own commit before it does.
                    self.written = Some((target.clone(), snapshot));
                }
                return Ok(target);
            }
            // A lock that a killed process left is gone by now; where the ref is elsewhere, somebody moved it.
            if repository.tip()?.as_deref() != Some(commit) {
                break;
            }
        }
        Err(Error::RefMoved(REF))
    }
}
