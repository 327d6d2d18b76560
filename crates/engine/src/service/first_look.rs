use std::time::Duration;

use beads_store::{AnyRemote, GitRepository, Guarded, RealDisk, RealWorld, Remote, Replica};

use super::Service;
use crate::request::{Call, Query, Request};

/// A first look may take this long at most: a command is waiting for it.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

/// A remote that did not answer is asked again after this.
const ASK_AGAIN_MS: u64 = 10 * 60 * 1000;

impl Service {
    /// Asks the remote once for a store, when there is none here and the clone cannot have brought it along: shallow and
    /// single-branch clones fetch other branches only. A remote that has none is not asked again.
    pub(super) fn first_look(&mut self, request: &Request, call: &Call) {
        if self.looked || request.offline || !is_work(call) {
            return;
        }
        self.looked = true;
        let is_new = self.replica.base().is_none()
            && self.replica.position() == 0
            && self.replica.catalog().state() == &beads_core::State::default();
        let now_ms = self.replica.now_ms();
        let asked = self.sync_state.asked_ms;
        let in_vain =
            self.sync_state.asked_in_vain_ms.is_some_and(|ms| now_ms < ms.saturating_add(ASK_AGAIN_MS));
        if !is_new || asked.is_some() || in_vain {
            return;
        }
        let plan = self.sync_plan();
        let Ok(Some(name)) = plan.remote_name() else { return };
        if self.repository.inner().is_fetched_by_default(&name) {
            return;
        }
        let deadline = plan.deadline.min(LONGEST_LOOK);
        match AnyRemote::open(&self.place.git_dir, &name, plan.transport, deadline).fetch() {
            Ok(Some(_)) => self.open_again(),
            Ok(None) => self.sync_state.asked_ms = Some(now_ms),
            Err(_) => self.sync_state.asked_in_vain_ms = Some(now_ms),
        }
        self.sync_state.save(&self.place.store_dir());
    }

    /// Takes in what a fetch brought. Nothing was written here yet, so nothing can be lost; on failure the next opening
    /// tells what is wrong.
    fn open_again(&mut self) {
        let open = || -> beads_store::Result<_> {
            let repository = GitRepository::open(&self.place.git_dir)?;
            let repository = Guarded::new(repository, &self.place.git_dir, self.identity.clone());
            let disk = RealDisk::watched(self.place.store_dir(), self.identity.clone());
            let replica = Replica::open(disk, &repository, RealWorld)?;
            Ok((repository, replica))
        };
        if let Ok((repository, replica)) = open() {
            (self.repository, self.replica) = (repository, replica);
        }
    }
}

/// Whether a call is about beads. Looking at the store itself, its settings or its daemon does not wait for a remote.
fn is_work(call: &Call) -> bool {
    match call {
        Call::Query(query) => !matches!(**query, Query::Status | Query::Events(_)),
        Call::Wait { call, .. } => is_work(call),
        Call::Mutate(_) | Call::Atomic(_) | Call::Each(_) | Call::CloseAndClaim { .. } => true,
        Call::Note(_) => true,
        Call::RenewHeld { .. } | Call::ReclaimExpired { .. } | Call::Export { .. } => true,
        _ => false,
    }
}
