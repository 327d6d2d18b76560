//! Publishes nothing without consent. If the remote has a store, it is merged automatically. A new store
//! stays local until the user asks for a sync.

use beads_store::Repository;

use super::Service;
use crate::request::{Call, Format, Query, Request};

impl Service {
    /// Records that the user asked for a sync, so the store may be published to its remote from now on.
    pub fn consent(&mut self) {
        let Ok(Some(name)) = self.sync_plan().remote_name() else { return };
        if self.sync_state.consent.as_ref() != Some(&name) {
            self.sync_state.consent = Some(name);
            self.sync_state.save(&self.place.store_dir());
        }
    }

    /// Returns whether the daemon syncs automatically.
    pub fn auto_sync_enabled(&self) -> bool {
        self.config.get("sync.auto").is_ok_and(|auto| auto != "false")
    }

    /// Returns the remote, if it has no store and the user has not consented to publishing this one.
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

    /// Adds a note that the store is local only, to the first mutation that creates a bead and to the status.
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
