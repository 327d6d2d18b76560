use beads_core::query::Direction;
use beads_core::{BeadView, Catalog, EdgeKind, Lineage};
use serde_json::json;

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, CycleAnswer, EpicAnswer, NoteAnswer, TreeNode};
use crate::request::{Format, Query};

impl Service {
    pub(super) fn query(&self, query: &Query, format: Format) -> Result<Answer, Failure> {
        let catalog = self.replica.catalog();
        let now_ms = self.replica.now_ms();
        match query {
            Query::Show { ids } => self.show(ids),
            Query::List(filter) => self.beads(catalog.list(filter)?.iter(), format),
            Query::Ready(asked) => {
                let ready = catalog.ready(asked, now_ms)?;
                let views = ready.iter().map(|ready| {
                    let view = self.line(&ready.lineage, format)?;
                    Ok(BeadView { open_children: ready.open_children, ..view })
                });
                Ok(Answer::Beads(views.collect::<Result<_, Failure>>()?))
            }
            Query::Blocked(filter) => {
                let blocked = catalog.blocked(filter)?;
                let views = blocked.iter().map(|blocked| {
                    let by = blocked.by.iter().map(|blocker| catalog.id_of(blocker).clone()).collect();
                    Ok(BeadView { blocked_by: Some(by), ..self.line(&blocked.lineage, format)? })
                });
                Ok(Answer::Beads(views.collect::<Result<_, Failure>>()?))
            }
            Query::Deleted => self.beads(catalog.deleted().map(|(lineage, _)| lineage), format),
            Query::Notes { id } => Ok(Answer::Notes(notes(&self.view(catalog.resolve(id)?)?))),
            Query::Labels => Ok(Answer::Labels(catalog.labels())),
            Query::LabelsOf { id } => Ok(Answer::LabelsOf(self.view(catalog.resolve(id)?)?.labels)),
            Query::DepList { id, direction, kind } => self.dep_list(id, *direction, *kind),
            Query::DepTree { id, direction, depth } => {
                let root = catalog.resolve(id)?;
                let rows = catalog.tree(root, *direction, *depth);
                let node = |row: &beads_core::query::TreeRow| {
                    let view = self.view(&row.lineage)?;
                    Ok(TreeNode::new(&view, row))
                };
                Ok(Answer::Tree(rows.iter().map(node).collect::<Result<_, Failure>>()?))
            }
            Query::Cycles => Ok(Answer::Cycles(cycles(catalog))),
            Query::Epics => self.epics(),
            Query::Count { filter, by: None } => Ok(Answer::Count(catalog.count(filter)?)),
            Query::Count { filter, by: Some(by) } => {
                Ok(Answer::CountBy { total: catalog.count(filter)?, groups: catalog.count_by(filter, *by)? })
            }
            Query::Status => self.status(),
        }
    }

    /// All of them, or an error that names each that is missing.
    fn show(&self, ids: &[String]) -> Result<Answer, Failure> {
        let catalog = self.replica.catalog();
        let mut views = Vec::new();
        let mut failed: Vec<(String, Failure)> = Vec::new();
        for id in ids {
            match catalog.resolve(id).map_err(Failure::from).and_then(|lineage| self.view(lineage)) {
                Ok(view) => views.push(view),
                Err(failure) => failed.push((id.clone(), failure)),
            }
        }
        match failed.len() {
            0 => Ok(Answer::Details(views)),
            1 if ids.len() == 1 => Err(failed.remove(0).1),
            _ => {
                let each: Vec<_> = failed.iter().map(|(_, failure)| failure.message.clone()).collect();
                let failures: Vec<_> = failed
                    .iter()
                    .map(|(id, failure)| json!({"id": id, "code": failure.code, "message": failure.message}))
                    .collect();
                Err(Failure::new("partial_failure", each.join("; "))
                    .with(json!({"succeeded": views, "failed": failures})))
            }
        }
    }

    fn beads<'a>(
        &self,
        lineages: impl Iterator<Item = &'a Lineage>,
        format: Format,
    ) -> Result<Answer, Failure> {
        Ok(Answer::Beads(lineages.map(|lineage| self.line(lineage, format)).collect::<Result<_, Failure>>()?))
    }

    /// What one line of a list needs: as text little, as JSON everything.
    fn line(&self, lineage: &Lineage, format: Format) -> Result<BeadView, Failure> {
        if format != Format::Text {
            return self.view(lineage);
        }
        let gone = || Failure::new("not_found", format!("{lineage:?} is not here"));
        self.replica.catalog().row(lineage).ok_or_else(gone)
    }

    /// Direct neighbours as full beads. The parent is a dependency only when it is asked for by its kind.
    fn dep_list(&self, id: &str, direction: Direction, kind: Option<EdgeKind>) -> Result<Answer, Failure> {
        let catalog = self.replica.catalog();
        let lineage = catalog.resolve(id)?;
        let links = match direction {
            Direction::Down => catalog.dependencies(lineage),
            Direction::Up => catalog.dependents(lineage),
        };
        let wanted = |found: EdgeKind| kind.map_or(found != EdgeKind::Parent, |kind| kind == found);
        let linked = links.into_iter().filter(|link| wanted(link.kind)).map(|link| {
            let view = self.view(catalog.resolve(link.id.as_str())?)?;
            Ok(crate::render::LinkedBead {
                bead: view,
                dependency_type: link.dependency_type,
                kind: link.kind,
            })
        });
        Ok(Answer::Linked(linked.collect::<Result<_, Failure>>()?))
    }

    fn epics(&self) -> Result<Answer, Failure> {
        let epics = self.replica.catalog().epics();
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

fn cycles(catalog: &Catalog) -> Vec<CycleAnswer> {
    let ids = |cycle: &[Lineage]| cycle.iter().map(|lineage| catalog.id_of(lineage).clone()).collect();
    catalog.cycles().iter().map(|(kind, cycle)| CycleAnswer { kind: *kind, ids: ids(cycle) }).collect()
}
