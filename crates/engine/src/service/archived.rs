//! Archived beads (docs/adr/0083-archive.md): archiving them, and reading what the archive has.

use std::collections::BTreeSet;

use beads_core::op::Archive;
use beads_core::query::{Filter, Finding, Severity};
use beads_core::snapshot::TOMBSTONES;
use beads_core::{Catalog, Lineage, Op, SharedBead, State, Timestamp, counted};
use beads_store::{ARCHIVE_REF, Caller, GitRepository, read_archive};

use super::Service;
use super::reader::Reader;
use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::render::{Answer, ArchivedAnswer};
use crate::request::{Output, Query, Request};

/// The store with the content of its archived beads, which are live in it.
pub(super) struct WithArchive {
    pub(super) catalog: Catalog,
    archived: BTreeSet<Lineage>,
}

impl WithArchive {
    /// Reads the archive. Returns `None` if no bead is archived.
    pub(super) fn read(place: &Place, state: &State) -> Result<Option<Self>, Failure> {
        if state.archived().next().is_none() {
            return Ok(None);
        }
        let archive = read_archive(&GitRepository::open(&place.git_dir)?)?;
        let (whole, archived) = state.with_archive(&archive);
        Ok(Some(Self { catalog: Catalog::from(whole), archived: archived.into_iter().collect() }))
    }

    /// Fails if the archive lacks a bead that was asked for.
    fn check(&self, ids: &[String]) -> Result<(), Failure> {
        let is_missing =
            |id: &&String| matches!(self.catalog.resolve(id), Err(beads_core::Error::Archived { .. }));
        ids.iter().find(is_missing).map_or(Ok(()), |id| Err(not_here(id)))
    }

    /// Answers a query that is not about long lists.
    fn query(&self, reader: Reader<'_>, query: &Query, output: &Output) -> Result<Answer, Failure> {
        let reader = Reader { catalog: &self.catalog, rows: None, ..reader };
        let mut answer = reader.query(query, output)?;
        let is_archived =
            |id: &str| self.catalog.resolve_any(id).is_ok_and(|lineage| self.archived.contains(lineage));
        for detail in answer.details_mut() {
            detail.bead.facts.archived = is_archived(detail.bead.id.as_str());
        }
        if let Answer::Beads(beads) = &mut answer {
            beads.retain(|bead| is_archived(bead.id.as_str()));
            beads.iter_mut().for_each(|bead| bead.facts.archived = true);
        }
        Ok(answer)
    }
}

/// Returns whether a query needs the archive.
pub(super) fn is_about_archived(catalog: &Catalog, query: &Query) -> bool {
    let is_archived = |id: &String| matches!(catalog.resolve(id), Err(beads_core::Error::Archived { .. }));
    match query {
        Query::Archived(_) => true,
        Query::Show { ids } => ids.iter().any(is_archived),
        Query::Blame { id } => is_archived(id),
        _ => false,
    }
}

/// Answers a query that needs the archive.
pub(super) fn query_archived(
    place: &Place,
    reader: Reader<'_>,
    query: &Query,
    output: &Output,
) -> Result<Answer, Failure> {
    match (query, WithArchive::read(place, reader.catalog.state())?) {
        (Query::Archived(_), None) => Ok(Answer::Beads(Vec::new())),
        (_, None) => reader.query(query, output),
        (Query::Archived(filter), Some(whole)) => list_archived(&whole, reader, filter, output),
        (Query::Show { ids }, Some(whole)) => {
            whole.check(ids)?;
            whole.query(reader, query, output)
        }
        (Query::Blame { id }, Some(whole)) => {
            whole.check(std::slice::from_ref(id))?;
            whole.query(reader, query, output)
        }
        (_, Some(_)) => Err(Failure::internal("not a query about archived beads")),
    }
}

/// Lists the archived beads that match a filter.
fn list_archived(
    whole: &WithArchive,
    reader: Reader<'_>,
    filter: &Filter,
    output: &Output,
) -> Result<Answer, Failure> {
    let limit = filter.limit;
    let query = Query::List(Filter { limit: None, hide_closed: false, ..filter.clone() });
    let mut answer = whole.query(reader, &query, output)?;
    if let (Answer::Beads(beads), Some(limit)) = (&mut answer, limit) {
        beads.truncate(limit);
    }
    Ok(answer)
}

/// How many ids a finding lists.
const LISTED_IDS: usize = 5;

/// Reports archived beads whose content this clone has neither in the store nor in the archive.
pub(super) fn finding(repository: &GitRepository, catalog: &Catalog) -> Option<Finding> {
    let hollow = catalog.archived().filter(|(_, bead)| bead.is_hollow()).map(|(lineage, _)| lineage);
    let hollow: Vec<&Lineage> = hollow.collect();
    if hollow.is_empty() {
        return None;
    }
    let finding = |severity, code, message| {
        Some(Finding { severity, code, file: Some(TOMBSTONES), line: None, id: None, message })
    };
    let archive = match read_archive(repository) {
        Ok(archive) => archive,
        Err(error) => {
            let message = format!(
                "the archive of this clone cannot be read: {error}; copy the branch from the remote or another clone: \
                 git fetch REMOTE +{ARCHIVE_REF}:{ARCHIVE_REF}"
            );
            return finding(Severity::Error, Failure::from(error).code, message);
        }
    };
    let is_missing = |lineage: &&Lineage| archive.bead(lineage).is_none_or(SharedBead::is_hollow);
    let missing: Vec<_> = hollow.into_iter().filter(is_missing).collect();
    let mut ids: Vec<_> = missing.iter().map(|lineage| catalog.id_of(lineage).as_str()).collect();
    ids.sort_unstable();
    let (count, first) =
        (counted(ids.len(), "archived bead"), ids.get(..LISTED_IDS).unwrap_or(&ids).join(", "));
    let message = format!(
        "{ARCHIVE_REF} of this clone lacks the content of {count} ({first}{}); bd sync fetches it. If the remote lacks it \
         too, run git push REMOTE beads/archive in a clone that has it",
        if ids.len() > LISTED_IDS { ", …" } else { "" }
    );
    if missing.is_empty() { None } else { finding(Severity::Warning, Code::ArchiveIncomplete, message) }
}

/// Returns the error about an archived bead whose content is not in this clone.
fn not_here(id: &str) -> Failure {
    let message = format!(
        "{id} is archived, but {ARCHIVE_REF} of this clone does not have it; nothing was changed. \
         bd sync fetches the archive from the remote"
    );
    Failure::new(Code::ArchiveIncomplete, message)
}

impl Service {
    /// Archives the beads that were closed before a time.
    pub(super) fn archive(
        &mut self,
        request: &Request,
        closed_before: Timestamp,
        dry_run: bool,
    ) -> Result<Answer, Failure> {
        let caller = self.caller(request, 0);
        let cached: Option<ArchivedAnswer> = if dry_run { None } else { self.cached_answer(&caller)? };
        if let Some(answer) = cached {
            return Ok(Answer::Archived(answer));
        }
        let op = Op::Archive(Archive { closed_before });
        // The answer is remembered as a whole, below.
        let anonymous = Caller { request: None, ..caller.clone() };
        let applied = if dry_run {
            self.replica.dry_run(&op, &anonymous)?
        } else {
            self.replica.apply(&op, &anonymous)?
        };
        let catalog = self.replica.catalog();
        let mut ids: Vec<_> =
            applied.delta.beads.keys().map(|lineage| catalog.id_of(lineage).to_string()).collect();
        ids.sort_unstable();
        let answer = ArchivedAnswer { archived: ids, dry_run, closed_before: closed_before.to_string() };
        if !dry_run {
            let cached = serde_json::to_value(&answer).map_err(Failure::internal)?;
            self.replica.cache_answer(&caller, cached)?;
        }
        Ok(Answer::Archived(answer))
    }

    /// Brings back the content of an archived bead before it is restored.
    pub(super) fn thaw(&mut self, id: &str) -> Result<(), Failure> {
        let lineage = self.replica.catalog().resolve_any_to_change(id)?.clone();
        if !self.replica.catalog().bead(&lineage).is_some_and(SharedBead::is_archived) {
            return Ok(());
        }
        let archive = read_archive(&self.repository)?;
        if self.replica.thaw(&lineage, &archive)? {
            return Ok(());
        }
        Err(not_here(self.replica.catalog().id_of(&lineage).as_str()))
    }
}
