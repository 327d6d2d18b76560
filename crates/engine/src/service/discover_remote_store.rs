use std::time::Duration;

use beads_store::{AnyRemote, GitRepository, Guarded, RealDisk, RealWorld, Remote, Replica};

use super::Service;
use crate::request::{Call, Query, Request};

/// The time limit. A command waits for it.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How long to wait before asking a remote again that did not answer.
const ASK_AGAIN_MS: u64 = 10 * 60 * 1000;

impl Service {
    /// Asks the remote once for a store, if this clone has none and did not fetch it: shallow and
    /// single-branch clones fetch only one branch. A remote without a store is not asked again.
    pub(super) fn discover_remote_store(&mut self, request: &Request, call: &Call) {
        if self.checked_remote || request.offline || !is_work(call) {
            return;
        }
        self.checked_remote = true;
        let is_new = self.replica.known_tip().is_none()
            && self.replica.position() == 0
            && self.replica.catalog().state() == &beads_core::State::default();
        let now_ms = self.replica.now_ms();
        let asked = self.sync_state.asked_ms;
        let failed_recently =
            self.sync_state.asked_in_vain_ms.is_some_and(|ms| now_ms < ms.saturating_add(ASK_AGAIN_MS));
        if !is_new || asked.is_some() || failed_recently {
            return;
        }
        let plan = self.sync_plan();
        let Ok(Some(name)) = plan.remote_name() else { return };
        if self.repository.inner().is_fetched_by_default(&name) {
            return;
        }
        let deadline = plan.deadline.min(TIME_LIMIT);
        match AnyRemote::open(&self.place.git_dir, &name, plan.transport, deadline).fetch() {
            Ok(Some(_)) => self.reopen(),
            Ok(None) => self.sync_state.asked_ms = Some(now_ms),
            Err(_) => self.sync_state.asked_in_vain_ms = Some(now_ms),
        }
        self.sync_state.save(&self.place.store_dir());
    }

    /// Reopens the store with what was fetched. Nothing was written here yet, so nothing can be lost. If it
    /// fails, the next command reports the error.
    fn reopen(&mut self) {
        let open = || -> beads_store::Result<_> {
            let repository = GitRepository::open(&self.place.git_dir)?;
            let repository = Guarded::new(repository, &self.place.git_dir, self.identity.clone());
            let disk = RealDisk::guarded(self.place.store_dir(), self.identity.clone());
            let replica = Replica::open(disk, &repository, RealWorld)?;
            Ok((repository, replica))
        };
        if let Ok((repository, replica)) = open() {
            (self.repository, self.replica) = (repository, replica);
        }
    }
}

/// Returns whether a call is about beads. Calls about the store itself, its settings or its daemon do not
/// wait for a remote.
fn is_work(call: &Call) -> bool {
    match call {
        Call::Query(query) => match &**query {
            Query::Status => false,
            Query::Events(events) => !events.ids.is_empty(),
            _ => true,
        },
        Call::Wait { call, .. } => is_work(call),
        Call::Mutate(_) | Call::Atomic(_) | Call::Each(_) | Call::CloseAndClaim { .. } => true,
        Call::Note(_) | Call::Label(_) | Call::UnclaimAll { .. } => true,
        Call::RenewHeld { .. } | Call::ReclaimExpired { .. } | Call::Export { .. } => true,
        _ => false,
    }
}
