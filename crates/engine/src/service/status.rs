use beads_core::{BeadId, Timestamp};
use beads_store::{REF, Repository};

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, StatusAnswer, SyncErrorStatus, SyncStatus};

impl Service {
    /// Describes the store and its last sync.
    pub(super) fn status(&self) -> Result<Answer, Failure> {
        let now_ms = self.replica.now_ms();
        let unsaved = self.replica.unsaved();
        Ok(Answer::Status(Box::new(StatusAnswer {
            summary: self.replica.catalog().summary(now_ms)?,
            prefix: self.replica.catalog().state().prefix().prefix.to_string(),
            format_version: self.replica.catalog().state().format_version(),
            reference: REF,
            commit: self.repository.tip()?,
            unsaved: unsaved.records,
            oldest_unsaved_ms: unsaved.oldest_ms.map(|oldest| now_ms.saturating_sub(oldest)),
            position: self.replica.position(),
            cursor: self.replica.cursor().to_string(),
            git_dir: self.place.git_dir.clone(),
            clock_skew: self.replica.catalog().clock_skew(now_ms),
            skipped_records: self.replica.skipped().to_vec(),
            memories: self.replica.catalog().memories(None).len(),
            questions: self.reader().questions(),
            stuck: self.stuck(),
            silent: self.silent_claims(),
            working: self.replica.catalog().held_beads(now_ms),
            waiting: self.replica.catalog().waits_for_person(now_ms),
            sync: self.sync_status(now_ms),
        })))
    }

    fn stuck(&self) -> Vec<BeadId> {
        let catalog = self.replica.catalog();
        catalog.stuck().map(|(lineage, _)| catalog.id_of(lineage).clone()).collect()
    }

    fn sync_status(&self, now_ms: u64) -> SyncStatus {
        let state = &self.sync_state;
        let shown = |ms: u64| Timestamp::text_of(ms);
        let unsynced = self.replica.position().saturating_sub(state.pushed_position);
        // Until the first save, the journal knows when the oldest change was made. If the sync state was
        // lost, the last success is the best estimate.
        let waiting_since = state.first_unpushed_ms.or(self.replica.unsaved().oldest_ms);
        let waiting_since = waiting_since.or(state.last_success_ms).unwrap_or(now_ms);
        SyncStatus {
            remote: state.remote.clone(),
            local_only: self.local_only(),
            unsynced,
            oldest_unsynced_ms: (unsynced > 0).then(|| now_ms.saturating_sub(waiting_since)),
            last_success: state.last_success_ms.map(shown),
            last_error: state.last_error.as_ref().map(|error| SyncErrorStatus {
                code: error.code.clone(),
                message: error.message.clone(),
                since: shown(error.since_ms),
                age_ms: now_ms.saturating_sub(error.since_ms),
                attempts: error.attempts,
            }),
            lost_claims: self.lost_claims(),
            push_budget: self.push_budget_status(),
            claim_refs_refused: self.claim_refs.refused.as_ref().map(|refused| refused.reason.clone()),
            conflicts: self
                .replica
                .catalog()
                .state()
                .conflicts()
                .values()
                .filter(|c| c.dismissed.is_none())
                .count(),
        }
    }
}
