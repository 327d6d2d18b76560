//! The remote, half a round trip away in each direction.

use std::sync::PoisonError;

use beads_store::{
    ClaimRemote, ClaimValue, ClaimsSeen, CommitId, Pushed, RefChange, Remote, Repository, Result, Steady,
    Swapped, Uptime,
};

use super::worker::Worker;

impl Steady for Worker<'_, '_> {
    fn now(&self) -> Uptime {
        Uptime::new("run", self.now_ms())
    }
}

impl Worker<'_, '_> {
    fn travel(&self) {
        self.sleep(self.shared().drain.round_trip_ms / 2);
    }
}

impl Remote for Worker<'_, '_> {
    fn name(&self) -> &str {
        "far"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.travel();
        let theirs = self.shared().remote.tip()?;
        if let Some(theirs) = &theirs {
            self.machine.repository.receive_from(&self.shared().remote, theirs)?;
        }
        self.travel();
        Ok(theirs)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.travel();
        let remote = &self.shared().remote;
        remote.receive_from(&self.machine.repository, new)?;
        let won = remote.swing(expected, new)?;
        if won {
            self.notes().0.pushes_won += 1;
        } else {
            self.notes().0.pushes_lost += 1;
        }
        self.travel();
        Ok(if won { Pushed::Done } else { Pushed::Lost("the ref is elsewhere".into()) })
    }
}

impl ClaimRemote for Worker<'_, '_> {
    fn claims(&self, _prefix: &str) -> Result<ClaimsSeen> {
        self.travel();
        let tip = self.shared().remote.tip()?;
        let refs = {
            let refs = self.shared().refs.lock().unwrap_or_else(PoisonError::into_inner);
            let value = |commit: &CommitId| ClaimValue {
                commit: commit.clone(),
                record: self.shared().remote.claim(commit),
            };
            refs.iter().map(|(name, commit)| (name.clone(), value(commit))).collect()
        };
        self.travel();
        Ok(ClaimsSeen { tip, refs })
    }

    fn swap(&self, _prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        self.travel();
        let swapped = changes.iter().map(|change| self.swap_one(change)).collect();
        self.travel();
        Ok(swapped)
    }
}

impl Worker<'_, '_> {
    fn swap_one(&self, change: &RefChange) -> Swapped {
        let mut refs = self.shared().refs.lock().unwrap_or_else(PoisonError::into_inner);
        if refs.get(&change.name) != change.expected.as_ref() {
            return Swapped::Lost("the ref is elsewhere".into());
        }
        let record = change.new.as_ref().and_then(|new| self.machine.repository.claim(new));
        match (&change.new, record) {
            (Some(new), Some(record)) => {
                self.shared().remote.keep_claim(new, record);
                refs.insert(change.name.clone(), new.clone());
            }
            _ => drop(refs.remove(&change.name)),
        }
        Swapped::Done
    }
}
