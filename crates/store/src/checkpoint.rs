//! Writing the state to the sync ref.

use beads_core::State;

use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result};

/// How often a ref that somebody else moves is merged with and tried again.
const MAX_ROUNDS: usize = 10;

/// A state set aside to be saved; the journal behind it goes on growing meanwhile.
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) state: State,
    pub(crate) base: Option<CommitId>,
    pub(crate) keep_segment: u64,
}

/// A checkpoint that is on the ref.
#[derive(Debug)]
pub struct Saved {
    pub commit: CommitId,
    /// The state on the ref, when it holds more than the checkpoint did.
    pub(crate) merged: Option<State>,
    pub(crate) keep_segment: u64,
}

impl Checkpoint {
    /// Commits the state and moves the ref, joining with whatever else appeared there. No commit is made when the ref
    /// holds exactly this state already.
    pub fn save(mut self, repository: &impl Repository) -> Result<Saved> {
        let mut merged = false;
        for _ in 0..MAX_ROUNDS {
            let tip = repository.tip()?;
            if tip != self.base
                && let Some(tip) = &tip
            {
                self.state.join(&repository.snapshot(tip)?.decode()?.state);
                merged = true;
            }
            let snapshot = self.state.encode();
            let done = |commit, state| Saved {
                commit,
                merged: merged.then_some(state),
                keep_segment: self.keep_segment,
            };
            if let Some(tip) = &tip
                && repository.holds(tip, &snapshot)?
            {
                repository.settle()?;
                return Ok(done(tip.clone(), self.state));
            }
            let parents: Vec<_> = tip.iter().cloned().collect();
            let commit = repository.write(&snapshot, &parents, "beads")?;
            if repository.swing(tip.as_deref(), &commit)? {
                if !repository.holds(&commit, &snapshot)? {
                    return Err(Error::RefMoved(REF));
                }
                return Ok(done(commit, self.state));
            }
            self.base = tip;
        }
        Err(Error::RefMoved(REF))
    }
}
