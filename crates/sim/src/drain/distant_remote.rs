//! The remote, with latency.

use std::sync::PoisonError;

use beads_store::{
    ClaimListing, ClaimRemote, ClaimValue, CommitId, Pushed, RefChange, Remote, Repository, Result,
    SteadyClock, Swapped, Uptime,
};

use super::worker::Worker;

impl SteadyClock for Worker<'_, '_> {
    fn now(&self) -> Uptime {
        Uptime::new("run", self.now_ms())
    }
}

impl Worker<'_, '_> {
    fn transmit(&self) {
        self.sleep(self.shared().drain.round_trip_ms / 2);
    }
}

impl Remote for Worker<'_, '_> {
    fn name(&self) -> &str {
        "far"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.transmit();
        let theirs = self.shared().remote.tip()?;
        if let Some(theirs) = &theirs {
            self.machine.repository.receive_from(&self.shared().remote, theirs)?;
        }
        self.transmit();
        Ok(theirs)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.transmit();
        let remote = &self.shared().remote;
        remote.receive_from(&self.machine.repository, new)?;
        let won = remote.compare_and_swap_ref(expected, new)?;
        if won {
            self.stats().0.pushes_won += 1;
        } else {
            self.stats().0.pushes_lost += 1;
        }
        self.transmit();
        Ok(if won { Pushed::Done } else { Pushed::Lost("the ref has moved".into()) })
    }
}

impl ClaimRemote for Worker<'_, '_> {
    fn claims(&self, _prefix: &str) -> Result<ClaimListing> {
        self.transmit();
        let tip = self.shared().remote.tip()?;
        let refs = {
            let refs = self.shared().refs.lock().unwrap_or_else(PoisonError::into_inner);
            let value = |commit: &CommitId| ClaimValue {
                commit: commit.clone(),
                record: self.shared().remote.claim(commit),
            };
            refs.iter().map(|(name, commit)| (name.clone(), value(commit))).collect()
        };
        self.transmit();
        Ok(ClaimListing { tip, refs })
    }

    fn swap(&self, _prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        self.transmit();
        let swapped = changes.iter().map(|change| self.swap_one(change)).collect();
        self.transmit();
        Ok(swapped)
    }
}

impl Worker<'_, '_> {
    fn swap_one(&self, change: &RefChange) -> Swapped {
        let mut refs = self.shared().refs.lock().unwrap_or_else(PoisonError::into_inner);
        if refs.get(&change.name) != change.expected.as_ref() {
            return Swapped::Lost("the ref has moved".into());
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
