//! Answers questions about the past and about what is on disk, from this thread or from another one.

use std::path::PathBuf;

use beads_core::Catalog;
use beads_store::{CommitId, GitRepository, JournalCopy, Record};

use super::Service;
use crate::failure::Failure;
use crate::render::Answer;
use crate::request::{Call, Query};

/// The beads at one moment, with what led there: the commits of the ref, and the mutations that it does not hold yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Archive<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) now_ms: u64,
    pub(super) repository: &'a GitRepository,
    /// The commit that the beads build on.
    pub(super) base: Option<&'a str>,
    pub(super) records: &'a [Record],
    /// Commits that were saved here and cannot be read any more.
    pub(super) missing: &'a [CommitId],
}

impl Archive<'_> {
    pub(super) fn call(&self, call: &Call) -> Result<Answer, Failure> {
        match call {
            Call::Validate => Ok(self.validate()),
            Call::Query(query) => self.query(query),
            _ => Err(Failure::internal("this is not a question about the past")),
        }
    }

    pub(super) fn query(&self, query: &Query) -> Result<Answer, Failure> {
        match query {
            Query::ShowAsOf { ids, moment } => self.show_as_of(ids, moment),
            Query::Log { id } => self.log(id),
            Query::Diff { from, to } => self.diff(from, to.as_ref()),
            _ => Err(Failure::internal("this is not a question about the past")),
        }
    }
}

/// What an archive needs besides the beads, set aside for another thread.
#[derive(Debug)]
pub(super) struct ArchiveCopy {
    git_dir: PathBuf,
    base: Option<CommitId>,
    journal: JournalCopy,
    missing: Vec<CommitId>,
}

impl ArchiveCopy {
    /// Opens the repository once more: the engine's own stays with the engine.
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
        })
    }
}

impl Service {
    pub(super) fn with_archive<T>(
        &self,
        journal: JournalCopy,
        ask: impl FnOnce(Archive<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let records = journal.records()?;
        ask(Archive {
            catalog: self.replica.catalog(),
            now_ms: self.replica.now_ms(),
            repository: self.repository.inner(),
            base: self.replica.base(),
            records: &records,
            missing: self.replica.missing_commits(),
        })
    }

    /// Sets aside what the answer to a call needs besides the beads.
    pub(super) fn copy_archive(&self, call: &Call) -> Result<Option<ArchiveCopy>, Failure> {
        let journal = match call {
            Call::Validate => JournalCopy::default(),
            Call::Query(query) if is_about_the_past(query) => self.replica.copy_unsaved()?,
            _ => return Ok(None),
        };
        Ok(Some(ArchiveCopy {
            git_dir: self.place.git_dir.clone(),
            base: self.replica.base().map(str::to_owned),
            journal,
            missing: self.replica.missing_commits().to_vec(),
        }))
    }
}

pub(super) fn is_about_the_past(query: &Query) -> bool {
    matches!(query, Query::ShowAsOf { .. } | Query::Log { .. } | Query::Diff { .. })
}
