use std::path::PathBuf;

use beads_core::{BeadId, Timestamp};
use beads_store::{CommitId, REF, Repository, Unsaved};

use super::Service;
use super::reader::Reader;
use crate::failure::Failure;
use crate::render::{Answer, SilentClaim, StatusAnswer, SyncErrorStatus, SyncStatus};

/// What a status consists of besides the beads.
#[derive(Debug)]
pub(super) struct StatusFacts {
    commit: Option<CommitId>,
    unsaved: Unsaved,
    position: u64,
    cursor: String,
    git_dir: PathBuf,
    skipped_records: Vec<String>,
    silent: Vec<SilentClaim>,
    sync: SyncStatus,
}

impl Reader<'_> {
    /// Describes the store and its last sync.
    pub(super) fn status(&self, facts: StatusFacts) -> Result<Answer, Failure> {
        let (catalog, now_ms) = (self.catalog, self.now_ms);
        Ok(Answer::Status(Box::new(StatusAnswer {
            summary: catalog.summary(now_ms)?,
            prefix: catalog.state().prefix().prefix.to_string(),
            format_version: catalog.state().format_version(),
            reference: REF,
            commit: facts.commit,
            unsaved: facts.unsaved.records,
            oldest_unsaved_ms: facts.unsaved.oldest_ms.map(|oldest| now_ms.saturating_sub(oldest)),
            position: facts.position,
            cursor: facts.cursor,
            git_dir: facts.git_dir,
            clock_skew: catalog.clock_skew(now_ms),
            skipped_records: facts.skipped_records,
            memories: catalog.memories(None).len(),
            questions: self.questions(),
            stuck: self.stuck(),
            silent: facts.silent,
            working: catalog.held_beads(now_ms),
            waiting: catalog.waits_for_person(now_ms),
            sync: facts.sync,
        })))
    }

    fn stuck(&self) -> Vec<BeadId> {
        self.catalog.stuck().map(|(lineage, _)| self.catalog.id_of(lineage).clone()).collect()
    }
}

impl Service {
    /// Returns what a status consists of besides the beads.
    pub(super) fn status_facts(&self) -> Result<StatusFacts, Failure> {
        Ok(StatusFacts {
            commit: self.repository.tip()?,
            unsaved: self.replica.unsaved(),
            position: self.replica.position(),
            cursor: self.replica.cursor().to_string(),
            git_dir: self.place.git_dir.clone(),
            skipped_records: self.replica.skipped().to_vec(),
            silent: self.silent_claims(),
            sync: self.sync_status(self.replica.now_ms()),
        })
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
            hub_error: self.hub_error(),
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
