use std::collections::{BTreeMap, BTreeSet};

use beads_core::query::{Direction, DrawingRequest, Filter, TreeRow};
use beads_core::{BeadType, BeadView, Catalog, EdgeKind, Lineage, LinkView, Status, Timestamp};
use serde_json::json;

use super::Service;
use super::archive::is_about_the_past;
use super::archived::{is_about_archived, query_archived};
use super::planning::DEFAULT_MINUTES;
use super::reader::Reader;
use super::row_cache::LONG_LIST;
use super::sessions::Liveness;
use crate::dialect::Dialect;
use crate::failure::{Code, Failure};
use crate::render::{
    Answer, CountAnswer, CountByAnswer, CycleAnswer, Detail, EpicAnswer, LinkedBead, NoteAnswer,
    PartlyAnswer, Progress, TreeNode, UnfinishedAnswer, shown,
};
use crate::request::{Format, Output, Query};

impl Service {
    /// Answers a query.
    pub(super) fn query(&self, query: &Query, output: &Output) -> Result<Answer, Failure> {
        match query {
            query if is_about_the_past(query) => {
                let work = self.work_log(query);
                self.with_archive(self.replica.copy_unsaved()?, &work, |archive| archive.query(query))
            }
            Query::Status => self.reader().status(self.status_facts()?),
            query if is_about_archived(self.replica.catalog(), query) => {
                query_archived(&self.place, self.reader(), query, output)
            }
            Query::Events(asked) => self.events(asked),
            Query::ClaimOver { fence } => self.claim_over(fence.0),
            query => {
                let mut answer = self.reader().query(query, output)?;
                let details = answer.details_mut();
                details.iter_mut().for_each(|detail| self.note_confirmation(detail));
                if output.width.is_some() && output.format == Format::Text {
                    details.iter_mut().for_each(|detail| self.note_for_terminal(detail));
                }
                Ok(answer)
            }
        }
    }

    /// Adds whether the remote has confirmed the claim on a bead.
    fn note_confirmation(&self, detail: &mut Detail) {
        let bead = &detail.bead;
        if bead.status == Status::InProgress && bead.assignee_expires.is_some() {
            let lineage = self.replica.catalog().resolve_any(bead.id.as_str());
            detail.confirmed = lineage.ok().map(|lineage| self.is_confirmed(lineage));
        }
    }
}

impl Service {
    /// Adds what `show` only shows on a terminal: open conflicts and when the holder was last heard from.
    fn note_for_terminal(&self, detail: &mut Detail) {
        let Ok(lineage) = self.replica.catalog().resolve_any(detail.bead.id.as_str()) else { return };
        detail.conflicts = self.conflicts_of(lineage);
        let held = self.sessions.held(lineage, detail.bead.assignee_at);
        detail.last_seen = held.and_then(|held| {
            let (Liveness::Live(ms) | Liveness::Silent(ms) | Liveness::Ended(ms)) =
                self.sessions.liveness(held, self.replica.now_ms());
            Timestamp::from_ms(ms).ok()
        });
    }
}

impl Reader<'_> {
    /// Answers a query about the current beads. Queries about the past need an
    /// [`Archive`](super::archive::Archive); the status and events need the [`Service`].
    pub(super) fn query(&self, query: &Query, output: &Output) -> Result<Answer, Failure> {
        // A row has no parent, notes and hash, which `--fields` may ask for.
        let format = if output.fields.is_empty() { output.format } else { Format::Value };
        let (catalog, now_ms) = (self.catalog, self.now_ms);
        match query {
            Query::Show { ids } => self.show(ids, output.dialect),
            Query::List(filter) | Query::Forest(filter) if format == Format::Json => {
                let found = catalog.list(filter)?;
                match self.rendered(found.iter().map(|lineage| (lineage, None)), output) {
                    Some(text) => Ok(Answer::RenderedBeads(text)),
                    None => self.beads(found.iter(), format),
                }
            }
            Query::List(filter) => {
                let answer = self.beads(catalog.list(filter)?.iter(), format)?;
                self.count_hidden(answer, filter, output)
            }
            Query::Forest(filter) if format == Format::Text => {
                self.count_hidden(self.forest(&catalog.list(filter)?)?, filter, output)
            }
            Query::Forest(filter) => self.beads(catalog.list(filter)?.iter(), format),
            Query::Details(filter) => {
                let found = catalog.list(filter)?;
                let details = found.iter().map(|lineage| self.detail(lineage, output.dialect));
                Ok(Answer::Details(details.collect::<Result<_, Failure>>()?))
            }
            Query::Ready(asked) => {
                let ready = catalog.ready(asked, now_ms)?;
                let rows = ready.iter().map(|ready| (&ready.lineage, ready.open_children));
                if let Some(text) = self.rendered(rows, output) {
                    return Ok(Answer::RenderedBeads(text));
                }
                let views = ready.iter().map(|ready| {
                    let mut view = self.line(&ready.lineage, format)?;
                    view.facts.open_children = ready.open_children;
                    Ok(view)
                });
                Ok(Answer::Beads(views.collect::<Result<_, Failure>>()?))
            }
            Query::Blocked(filter) => {
                let blocked = catalog.blocked(filter)?;
                let views = blocked.iter().map(|blocked| {
                    let by = blocked.by.iter().map(|blocker| catalog.id_of(blocker).clone()).collect();
                    let mut view = self.line(&blocked.lineage, format)?;
                    view.facts.blocked_by = Some(by);
                    Ok(view)
                });
                Ok(Answer::Beads(views.collect::<Result<_, Failure>>()?))
            }
            Query::Overview { ids, closed_since } => {
                Ok(Answer::Overview(catalog.overview(ids.as_deref(), *closed_since)))
            }
            Query::Links { around, closed } => {
                let asked = DrawingRequest { around: around.clone(), closed: *closed };
                Ok(Answer::Links(catalog.links(&asked, DEFAULT_MINUTES, now_ms)?))
            }
            Query::Deleted => self.beads(catalog.deleted().map(|(lineage, _)| lineage), format),
            Query::DeletedBeads { ids } => self.deleted(ids, format),
            Query::Notes { id } => Ok(Answer::Notes(notes(&self.view(catalog.resolve(id)?)?))),
            Query::Memories { asked, brief } => Ok(Answer::Memories(self.memories(asked.as_deref(), *brief))),
            Query::Questions => Ok(Answer::Questions(self.questions())),
            Query::Labels => Ok(Answer::Labels(catalog.labels())),
            Query::LabelsOf { id } => Ok(Answer::LabelsOf(self.view(catalog.resolve(id)?)?.facts.labels)),
            Query::DepList { id, direction, kind } => self.dep_list(id, *direction, *kind),
            Query::DepTree { id, direction, depth } => {
                let root = catalog.resolve(id)?;
                let rows = catalog.tree(root, *direction, *depth);
                let node = |row: &TreeRow| {
                    let view = self.view(&row.lineage)?;
                    Ok(TreeNode::new(&view, row))
                };
                Ok(Answer::Tree(rows.iter().map(node).collect::<Result<_, Failure>>()?))
            }
            Query::Explain(asked) => self.explain(asked, format),
            Query::Plan(asked) => self.plan(asked),
            Query::Graph { id, closed, format } => self.graph(id.as_ref(), *closed, *format),
            Query::Cycles => Ok(Answer::Cycles(cycles(catalog, &catalog.cycles()))),
            Query::Epics => self.epics(),
            Query::Count { filter, by: None } => {
                Ok(Answer::Count(CountAnswer { count: catalog.count(filter)? }))
            }
            Query::Count { filter, by: Some(by) } => {
                let (total, groups) = (catalog.count(filter)?, catalog.count_by(filter, *by)?);
                Ok(Answer::CountBy(CountByAnswer { total, groups }))
            }
            Query::Revisions { ids } => Ok(Answer::Revisions(self.revisions(ids))),
            Query::Blame { id } => self.blame(id),
            Query::NotesBy { author, id } => self.notes_by(author, id.as_deref()),
            Query::ShowAsOf { .. }
            | Query::Log { .. }
            | Query::Diff { .. }
            | Query::Recap(_)
            | Query::Activity(_)
            | Query::Agents { .. }
            | Query::Status
            | Query::Archived(_)
            | Query::Events(_)
            | Query::ClaimOver { .. } => Err(Failure::internal("not a query about the current beads")),
        }
    }

    /// Adds the number of closed beads that a list hides, which is only shown on a terminal.
    fn count_hidden(&self, answer: Answer, filter: &Filter, output: &Output) -> Result<Answer, Failure> {
        if !filter.hide_closed || output.format != Format::Text || output.width.is_none() {
            return Ok(answer);
        }
        let hidden = self.catalog.count(&filter.hidden())?;
        Ok(Answer::Unfinished(UnfinishedAnswer { listed: Box::new(answer), hidden }))
    }

    fn revisions(&self, ids: &[String]) -> BTreeMap<String, u64> {
        let catalog = self.catalog;
        let found: Vec<_> = ids.iter().filter_map(|id| Some((id, catalog.resolve_any(id).ok()?))).collect();
        let revisions = catalog.revisions(found.iter().map(|(_, lineage)| *lineage));
        let of = |(id, lineage): (&String, &Lineage)| Some((id.clone(), *revisions.get(lineage)?));
        found.into_iter().filter_map(of).collect()
    }

    /// Returns deleted beads by id.
    fn deleted(&self, ids: &[String], format: Format) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let mut found = Vec::new();
        for id in ids {
            let lineage = catalog.resolve_any(id)?;
            if catalog.live_bead(lineage).is_some() {
                let message = format!("{} is not deleted", catalog.id_of(lineage));
                return Err(Failure::new(Code::NotFound, message));
            }
            found.push(lineage);
        }
        self.beads(found.into_iter(), format)
    }

    /// Returns the beads, and an error that lists the missing ones, if any.
    fn show(&self, ids: &[String], dialect: Option<Dialect>) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let mut details = Vec::new();
        let mut failed: Vec<(String, Failure)> = Vec::new();
        for id in ids {
            let found = catalog.resolve(id).map_err(Failure::from);
            match found.and_then(|lineage| self.detail(lineage, dialect)) {
                Ok(detail) => details.push(detail),
                Err(failure) => failed.push((id.clone(), failure)),
            }
        }
        match failed.len() {
            0 => Ok(Answer::Details(details)),
            1 if ids.len() == 1 => Err(failed.remove(0).1),
            _ => {
                let each: Vec<_> = failed.iter().map(|(_, failure)| failure.message.clone()).collect();
                let failures: Vec<_> = failed
                    .iter()
                    .map(|(id, failure)| json!({"id": id, "code": failure.code, "message": failure.message}))
                    .collect();
                let succeeded = Answer::Details(details);
                let details = json!({"succeeded": shown(&succeeded, dialect), "failed": failures});
                let failure = Failure::new(Code::PartialFailure, each.join("; ")).with(details);
                if failed.len() == ids.len() {
                    return Err(failure);
                }
                Ok(Answer::Partly(Box::new(PartlyAnswer { done: succeeded, failure })))
            }
        }
    }

    /// Returns a bead in full, with its linked beads if the dialect shows them.
    fn detail(&self, lineage: &Lineage, dialect: Option<Dialect>) -> Result<Detail, Failure> {
        let bead = self.view(lineage)?;
        let whole = |links: &[LinkView]| match dialect.unwrap_or_default() {
            Dialect::Spec => Ok(Vec::new()),
            Dialect::Compat => links.iter().map(|link| self.linked(link)).collect::<Result<_, Failure>>(),
        };
        let (dependencies, dependents) = (whole(&bead.dependencies)?, whole(&bead.dependents)?);
        let progress = (bead.kind == BeadType::Epic)
            .then(|| self.catalog.progress(lineage))
            .filter(|progress| progress.total_children > 0)
            .map(|progress| Progress {
                total: progress.total_children,
                closed: progress.closed_children,
                closeable: progress.eligible_for_close,
            });
        Ok(Detail {
            bead,
            dependencies,
            dependents,
            progress,
            confirmed: None,
            conflicts: Vec::new(),
            last_seen: None,
        })
    }

    fn linked(&self, link: &LinkView) -> Result<LinkedBead, Failure> {
        let bead = self.view(self.catalog.resolve(link.id.as_str())?)?;
        Ok(LinkedBead { bead, dependency_type: link.dependency_type, kind: link.kind })
    }

    fn beads<'a>(
        &self,
        lineages: impl Iterator<Item = &'a Lineage>,
        format: Format,
    ) -> Result<Answer, Failure> {
        Ok(Answer::Beads(lineages.map(|lineage| self.line(lineage, format)).collect::<Result<_, Failure>>()?))
    }

    /// Returns a long list for `--json`, from the rows that were rendered before. Returns `None` for every
    /// other list.
    fn rendered<'a>(
        &self,
        found: impl ExactSizeIterator<Item = (&'a Lineage, Option<usize>)>,
        output: &Output,
    ) -> Option<String> {
        let is_whole = output.format == Format::Json && output.fields.is_empty();
        let rows = self.rows.filter(|_| is_whole && found.len() >= LONG_LIST)?;
        rows.render(self, found, output.dialect.unwrap_or_default())
    }

    /// Arranges beads below their parents, if those are listed, too. Otherwise keeps the order of the list.
    fn forest(&self, listed: &[Lineage]) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let all: BTreeSet<&Lineage> = listed.iter().collect();
        let mut below: BTreeMap<Option<&Lineage>, Vec<&Lineage>> = BTreeMap::new();
        for lineage in listed {
            let parent = catalog.parent(lineage).filter(|parent| all.contains(parent));
            below.entry(parent).or_default().push(lineage);
        }
        let roots = below.get(&None).map_or(&[][..], Vec::as_slice);
        // The stack is processed from its end. At the bottom, all beads are pushed once more, because beads
        // whose parents form a cycle, which a merge may create, are below no root.
        let starts = listed.iter().rev().chain(roots.iter().rev().copied());
        let mut stack: Vec<(&Lineage, usize, bool)> = starts.map(|lineage| (lineage, 0, false)).collect();
        let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some((lineage, depth, last)) = stack.pop() {
            if seen.insert(lineage) {
                rows.push(TreeRow { lineage: lineage.clone(), depth, kind: None, last, cut: false });
                let children = below.get(&Some(lineage)).map_or(&[][..], Vec::as_slice);
                let stacked = children.iter().rev().enumerate();
                stack.extend(stacked.map(|(index, child)| (*child, depth + 1, index == 0)));
            }
        }
        let node = |row: &TreeRow| Ok(TreeNode::new(&self.line(&row.lineage, Format::Text)?, row));
        Ok(Answer::Tree(rows.iter().map(node).collect::<Result<_, Failure>>()?))
    }

    /// Returns what one line of a list needs: a few fields for text, the whole bead for JSON.
    pub(super) fn line(&self, lineage: &Lineage, format: Format) -> Result<BeadView, Failure> {
        if format != Format::Text {
            return self.view(lineage);
        }
        let missing = || Failure::new(Code::NotFound, format!("{lineage:?} does not exist"));
        let mut row = self.catalog.row(lineage).ok_or_else(missing)?;
        self.note_silence(lineage, &mut row);
        Ok(row)
    }

    /// Returns the directly linked beads in full. The parent is only included if that kind of edge is
    /// requested.
    fn dep_list(&self, id: &str, direction: Direction, kind: Option<EdgeKind>) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let lineage = catalog.resolve(id)?;
        let links = match direction {
            Direction::Down => catalog.dependencies(lineage),
            Direction::Up => catalog.dependents(lineage),
        };
        let wanted = |found: EdgeKind| kind.map_or(found != EdgeKind::Parent, |kind| kind == found);
        let linked = links.iter().filter(|link| wanted(link.kind)).map(|link| self.linked(link));
        Ok(Answer::Linked(linked.collect::<Result<_, Failure>>()?))
    }

    fn epics(&self) -> Result<Answer, Failure> {
        let epics = self.catalog.epics();
        let answer = epics.iter().map(|epic| {
            Ok(EpicAnswer {
                epic: self.view(&epic.lineage)?,
                total_children: epic.total_children,
                closed_children: epic.closed_children,
                eligible_for_close: epic.eligible_for_close,
            })
        });
        Ok(Answer::Epics(answer.collect::<Result<_, Failure>>()?))
    }
}

fn notes(view: &BeadView) -> Vec<NoteAnswer> {
    view.notes.iter().map(|note| NoteAnswer::new(&view.id, note)).collect()
}

pub(super) fn cycles(catalog: &Catalog, cycles: &[(EdgeKind, Vec<Lineage>)]) -> Vec<CycleAnswer> {
    let ids = |cycle: &[Lineage]| cycle.iter().map(|lineage| catalog.id_of(lineage).clone()).collect();
    cycles.iter().map(|(kind, cycle)| CycleAnswer { kind: *kind, ids: ids(cycle) }).collect()
}
