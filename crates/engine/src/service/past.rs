use beads_core::query::Difference;
use beads_core::{
    BeadId, Catalog, Edge, EdgeChange, EdgeKey, Endpoint, Field, History, Lineage, Mark, State, Timestamp,
};

use super::archive::Archive;
use super::reader::Reader;
use crate::failure::{Code, Failure};
use crate::render::{Answer, BlameAnswer, Detail, DifferenceAnswer, EdgeAnswer, LogAnswer, WriteAnswer};
use crate::request::Moment;

impl Archive<'_> {
    /// What was done to a bead: from the commits of the ref, from the journal for what is not there yet, and as it is.
    pub(super) fn log(&self, id: &str) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let lineage = catalog.resolve_any(id)?;
        let mut history = History::of(lineage);
        let (mut complete, mut bead) = (true, None);
        if let Some(base) = self.base {
            complete = self.repository.gather_history(base, lineage, &mut history)?;
            bead = self.repository.bead_of(base, lineage)?;
        }
        // Each record on top of what was there before it, which begins as the commit has it.
        for record in self.records {
            if let Some(patch) = record.delta.beads.get(lineage) {
                bead = history.take_patch(bead, patch);
            }
            take_edges(&mut history, catalog, lineage, &record.delta.edges);
        }
        take_edges(&mut history, catalog, lineage, catalog.state().edges());
        if let Some(bead) = catalog.bead(lineage) {
            history.take(bead);
        }
        let id = catalog.id_of(lineage);
        let writes = history.writes().into_iter().map(|write| WriteAnswer {
            time: time(&write.mark),
            at: write.mark.at(),
            by: write.mark.by().clone(),
            created: write.created,
            changes: write.changes,
            note: write.notes.first().cloned(),
            more_notes: write.notes.into_iter().skip(1).collect(),
            deleted: write.deleted,
            dependencies: write.edges.into_iter().map(|edge| edge_answer(id, edge)).collect(),
        });
        Ok(Answer::Log(LogAnswer { id: id.clone(), writes: writes.collect(), complete }))
    }

    pub(super) fn diff(&self, from: &Moment, to: Option<&Moment>) -> Result<Answer, Failure> {
        let before = self.state_at(from)?;
        let after = match to {
            Some(moment) => self.state_at(moment)?,
            None => self.catalog.state().clone(),
        };
        let answer = |one: Difference| {
            let title = after.bead(&one.lineage)?.title.value.clone();
            let id = after.names().id_of(&one.lineage).clone();
            Some(DifferenceAnswer { id, title, kind: one.kind, changes: one.changes, notes: one.notes })
        };
        Ok(Answer::Diff(before.differences(&after).into_iter().filter_map(answer).collect()))
    }

    /// A whole bead as it was.
    pub(super) fn show_as_of(&self, ids: &[String], moment: &Moment) -> Result<Answer, Failure> {
        let past = Catalog::from(self.state_at(moment)?);
        let detail = |id: &String| -> Result<Detail, Failure> {
            let gone = || Failure::new(Code::NotFound, format!("{id} was not there"));
            let bead = past.view(past.resolve(id)?).ok_or_else(gone)?;
            Ok(Detail {
                bead,
                dependencies: Vec::new(),
                dependents: Vec::new(),
                progress: None,
                confirmed: None,
            })
        };
        Ok(Answer::Details(ids.iter().map(detail).collect::<Result<_, Failure>>()?))
    }

    /// The state that a commit of the ref holds, or that there was at a time.
    fn state_at(&self, moment: &Moment) -> Result<State, Failure> {
        let past = match self.base {
            Some(base) => self.repository.past(base)?,
            None => Vec::new(),
        };
        let time = match moment {
            Moment::Revision(name) => {
                let commit = self.repository.revision(&past, name)?;
                return Ok(self.repository.state_of(&commit)?);
            }
            Moment::Time(time) => time.ms(),
        };
        let last_before = past.iter().position(|past| past.at_ms <= time);
        let mut state = match last_before {
            Some(index) => self.repository.state_of(&past[index].commit)?,
            None => State::default(),
        };
        match last_before.unwrap_or(past.len()).checked_sub(1) {
            Some(index) => state.join_until(&self.repository.state_of(&past[index].commit)?, time),
            None => {
                for record in self.records.iter().filter(|record| record.at_ms <= time) {
                    state.take(&record.delta)?;
                }
            }
        }
        Ok(state)
    }
}

impl Reader<'_> {
    /// Who set each field that is not empty, and when.
    pub(super) fn blame(&self, id: &str) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let lineage = catalog.resolve_any(id)?;
        let Some(bead) = catalog.bead(lineage) else { return Ok(Answer::Blame(Vec::new())) };
        let field = |field: &Field| {
            let (mark, value) = (bead.mark(*field), bead.value_json(*field));
            // An empty field that was never touched is nobody's doing.
            (!value.is_null() || *mark != lineage.mark()).then(|| BlameAnswer {
                field: *field,
                value,
                time: time(mark),
                at: mark.at(),
                by: mark.by().clone(),
            })
        };
        Ok(Answer::Blame(Field::ALL.iter().filter_map(field).collect()))
    }
}

/// Edges that start at a bead, under the id that the other end has now.
fn take_edges<'a>(
    history: &mut History,
    catalog: &Catalog,
    from: &Lineage,
    edges: impl IntoIterator<Item = (&'a EdgeKey, &'a Edge)>,
) {
    for (key, edge) in edges.into_iter().filter(|(key, _)| key.from.lineage() == Some(from)) {
        let to = match &key.to {
            Endpoint::Bead(to) => catalog.id_of(to),
            Endpoint::Bare(id) => id,
        };
        history.take_edge(key.kind, to, edge);
    }
}

fn edge_answer(from: &BeadId, edge: EdgeChange) -> EdgeAnswer {
    EdgeAnswer {
        status: if edge.added { "added" } else { "removed" },
        issue_id: from.clone(),
        depends_on_id: edge.to,
        dependency_type: edge.kind.client_name(),
        kind: edge.kind,
    }
}

fn time(mark: &Mark) -> String {
    Timestamp::from(mark.at()).to_string()
}
