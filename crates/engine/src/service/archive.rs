//! Answers queries about the past and about what is on disk, in this thread or in another.

use std::path::PathBuf;

use beads_core::Catalog;
use beads_store::{CommitId, GitRepository, JournalCopy, Record};

use super::Service;
use super::recap::WorkLog;
use crate::failure::Failure;
use crate::render::Answer;
use crate::request::{Call, Query};

/// The beads at one point in time with their history: the commits of the ref, and the mutations that are not
/// on the ref yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Archive<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) now_ms: u64,
    pub(super) repository: &'a GitRepository,
    /// The commit that the beads build on.
    pub(super) base: Option<&'a str>,
    pub(super) records: &'a [Record],
    /// Commits that were saved here and can no longer be read.
    pub(super) missing: &'a [CommitId],
    /// For reports about the work of all actors; otherwise empty.
    pub(super) work: &'a WorkLog,
}

impl Archive<'_> {
    /// Answers a call about the past or about what is on disk.
    pub(super) fn call(&self, call: &Call) -> Result<Answer, Failure> {
        match call {
            Call::Validate => Ok(self.validate()),
            Call::Query(query) => self.query(query),
            _ => Err(Failure::internal("not a query about the past")),
        }
    }

    /// Answers a query about the past.
    pub(super) fn query(&self, query: &Query) -> Result<Answer, Failure> {
        match query {
            Query::ShowAsOf { ids, moment } => self.show_as_of(ids, moment),
            Query::Log { id } => self.log(id),
            Query::Diff { from, to } => self.diff(from, to.as_ref()),
            Query::Recap(asked) => Ok(self.recap(asked)),
            Query::Activity(asked) => self.activity(asked),
            Query::Agents { since } => Ok(self.agents(*since)),
            _ => Err(Failure::internal("not a query about the past")),
        }
    }
}

/// What an archive needs besides the beads, copied for another thread.
#[derive(Debug)]
pub(super) struct ArchiveCopy {
    git_dir: PathBuf,
    base: Option<CommitId>,
    journal: JournalCopy,
    missing: Vec<CommitId>,
    work: WorkLog,
}

impl ArchiveCopy {
    /// Passes the archive to `ask`. Opens the repository again, because the engine's handle stays with the
    /// engine.
    pub(super) fn with<T>(
        self,
        catalog: &Catalog,
        now_ms: u64,
        ask: impl FnOnce(Archive<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let repository = GitRepository::open(&self.git_dir)?;
        let records = self.journal.records()?;
        ask(Archive {
            catalog,
            now_ms,
            repository: &repository,
            base: self.base.as_deref(),
            records: &records,
            missing: &self.missing,
            work: &self.work,
        })
    }
}

impl Service {
    /// Passes the archive of the open store to `ask`.
    pub(super) fn with_archive<T>(
        &self,
        journal: JournalCopy,
        work: &WorkLog,
        ask: impl FnOnce(Archive<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let records = journal.records()?;
        ask(Archive {
            catalog: self.replica.catalog(),
            now_ms: self.replica.now_ms(),
            repository: self.repository.inner(),
            base: self.replica.known_tip(),
            records: &records,
            missing: self.replica.missing_commits(),
            work,
        })
    }

    /// Copies what the answer to a call needs besides the beads.
    pub(super) fn copy_archive(&self, call: &Call) -> Result<Option<ArchiveCopy>, Failure> {
        let (journal, work) = match call {
            Call::Validate => (JournalCopy::default(), WorkLog::default()),
            // The log and the beads answer it, without the history.
            Call::Query(query) if matches!(**query, Query::Agents { .. }) => {
                (JournalCopy::default(), self.work_log(query))
            }
            Call::Query(query) if is_about_the_past(query) => {
                (self.replica.copy_unsaved()?, self.work_log(query))
            }
            _ => return Ok(None),
        };
        Ok(Some(ArchiveCopy {
            git_dir: self.place.git_dir.clone(),
            base: self.replica.known_tip().map(str::to_owned),
            journal,
            missing: self.replica.missing_commits().to_vec(),
            work,
        }))
    }
}

/// Returns whether a query needs the history.
pub(super) fn is_about_the_past(query: &Query) -> bool {
    matches!(
        query,
        Query::ShowAsOf { .. }
            | Query::Log { .. }
            | Query::Diff { .. }
            | Query::Recap(_)
            | Query::Activity(_)
            | Query::Agents { .. }
    )
}
