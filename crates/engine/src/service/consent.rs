//! Nothing is published unasked. A store that the remote has is joined; a new one stays here until it was asked for.

use beads_store::Repository;

use super::Service;
use crate::request::{Call, Format, Query, Request};

impl Service {
    /// Notes that a sync was asked for: the store may be published to its remote from now on.
    pub fn consent(&mut self) {
        let Ok(Some(name)) = self.sync_plan().remote_name() else { return };
        if self.sync_state.consent.as_ref() != Some(&name) {
            self.sync_state.consent = Some(name);
            self.sync_state.save(&self.place.store_dir());
        }
    }

    /// Whether exchanges happen without being asked for.
    pub fn syncs_itself(&self) -> bool {
        self.config.get("sync.auto").is_ok_and(|auto| auto != "false")
    }

    /// The remote to which the store would be published, when it is not there and nobody asked for that.
    pub(super) fn local_only(&self) -> Option<String> {
        if self.config.get("sync.auto").is_ok_and(|auto| auto == "true") {
            return None;
        }
        let name = self.sync_plan().remote_name().ok()??;
        let state = &self.sync_state;
        let is_there = !state.withheld && state.last_success_ms.is_some()
            || self.repository.tracked().is_ok_and(|tips| !tips.is_empty());
        (state.consent.as_ref() != Some(&name) && !is_there).then_some(name)
    }

    /// Says in one line that nothing leaves this machine: with the first bead that is made, and with the status.
    pub(super) fn note_local_only(&mut self, request: &Request, before: u64) {
        let output = &request.output;
        if output.format != Format::Text || output.quiet || output.ids_only || request.offline {
            return;
        }
        let asks = matches!(&request.call, Call::Query(query) if matches!(**query, Query::Status));
        let makes = self.replica.position() > before && request.call.creates_the_store();
        if !asks && (!makes || self.sync_state.said_local_only) {
            return;
        }
        if let Some(name) = self.local_only() {
            self.remarks.push(format!("local only; `bd sync` publishes to {name}"));
            if makes {
                self.sync_state.said_local_only = true;
                self.sync_state.save(&self.place.store_dir());
            }
        }
    }
}
