//! Archived beads (docs/adr/0083-archive.md): archiving them, and reading what the archive has.

use std::collections::BTreeSet;

use beads_core::op::Archive;
use beads_core::query::Filter;
use beads_core::{Catalog, Lineage, Op, State, Timestamp};
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

    /// Answers a query that is not about long lists.
    fn query(&self, reader: Reader<'_>, query: &Query, output: &Output) -> Result<Answer, Failure> {
        let reader = Reader { catalog: &self.catalog, rows: None, ..reader };
        let mut answer = reader.query(query, output)?;
        let is_archived =
            |id: &str| self.catalog.resolve_any(id).is_ok_and(|lineage| self.archived.contains(lineage));
        match &mut answer {
            Answer::Details(details) => {
                for detail in details {
                    detail.bead.facts.archived = is_archived(detail.bead.id.as_str());
                }
            }
            Answer::Beads(beads) => {
                beads.retain(|bead| is_archived(bead.id.as_str()));
                beads.iter_mut().for_each(|bead| bead.facts.archived = true);
            }
            _ => {}
        }
        Ok(answer)
    }
}

/// Lists the archived beads that match a filter.
pub(super) fn list_archived(
    place: &Place,
    reader: Reader<'_>,
    filter: &Filter,
    output: &Output,
) -> Result<Answer, Failure> {
    let Some(whole) = WithArchive::read(place, reader.catalog.state())? else {
        return Ok(Answer::Beads(Vec::new()));
    };
    let limit = filter.limit;
    let query = Query::List(Filter { limit: None, hide_closed: false, ..filter.clone() });
    let mut answer = whole.query(reader, &query, output)?;
    if let (Answer::Beads(beads), Some(limit)) = (&mut answer, limit) {
        beads.truncate(limit);
    }
    Ok(answer)
}

impl Service {
    /// Shows beads of which some are archived.
    pub(super) fn show_archived(&self, query: &Query, output: &Output) -> Result<Answer, Failure> {
        match WithArchive::read(&self.place, self.replica.catalog().state())? {
            Some(whole) => whole.query(self.reader(), query, output),
            None => self.reader().query(query, output),
        }
    }

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
        if !self.replica.catalog().bead(&lineage).is_some_and(|bead| bead.is_archived()) {
            return Ok(());
        }
        let archive = read_archive(&self.repository)?;
        if self.replica.thaw(&lineage, &archive)? {
            return Ok(());
        }
        let id = self.replica.catalog().id_of(&lineage);
        let message = format!(
            "{id} is archived, but {ARCHIVE_REF} of this clone does not have it; nothing was changed. \
             bd sync fetches the archive"
        );
        Err(Failure::new(Code::Archived, message))
    }
}
