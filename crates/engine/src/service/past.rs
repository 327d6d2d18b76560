use beads_core::query::Difference;
use beads_core::{
    BeadId, Catalog, Edge, EdgeChange, EdgeKey, Endpoint, Field, History, Lineage, Mark, State, Timestamp,
};

use beads_store::read_archive;

use super::archive::Archive;
use super::reader::Reader;
use crate::failure::{Code, Failure};
use crate::render::{Answer, BlameAnswer, Detail, DifferenceAnswer, EdgeAnswer, LogAnswer, WriteAnswer};
use crate::request::Moment;

impl Archive<'_> {
    /// Returns the history of a bead: from the commits of the ref, the journal, and the current state.
    pub(super) fn log(&self, id: &str) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let lineage = catalog.resolve_any(id)?;
        let mut history = History::new(lineage);
        let (mut complete, mut bead) = (true, None);
        if let Some(base) = self.base {
            complete = self.repository.gather_history(base, lineage, &mut history)?;
            bead = self.repository.bead_of(base, lineage)?;
        }
        // Records are applied in order, on top of the state in the commit.
        for record in self.records {
            if let Some(patch) = record.delta.beads.get(lineage) {
                bead = history.record_patch(bead, patch);
            }
            take_edges(&mut history, catalog, lineage, &record.delta.edges);
        }
        take_edges(&mut history, catalog, lineage, catalog.state().edges());
        if let Some(bead) = catalog.bead(lineage) {
            history.record(bead);
            if bead.is_hollow()
                && let Some(content) = read_archive(self.repository)?.bead(lineage)
            {
                history.record(content);
            }
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

    /// Returns the differences between two states.
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

    /// Returns beads in full, as they were at a point in the past.
    pub(super) fn show_as_of(&self, ids: &[String], moment: &Moment) -> Result<Answer, Failure> {
        let past = Catalog::from(self.state_at(moment)?);
        let detail = |id: &String| -> Result<Detail, Failure> {
            let missing = || Failure::new(Code::NotFound, format!("{id} did not exist then"));
            let bead = past.view(past.resolve(id)?).ok_or_else(missing)?;
            Ok(Detail {
                bead,
                dependencies: Vec::new(),
                dependents: Vec::new(),
                progress: None,
                confirmed: None,
                conflicts: Vec::new(),
                last_seen: None,
            })
        };
        Ok(Answer::Details(ids.iter().map(detail).collect::<Result<_, Failure>>()?))
    }

    /// Returns the state in a commit of the ref, or at a time.
    pub(super) fn state_at(&self, moment: &Moment) -> Result<State, Failure> {
        let past = match self.base {
            Some(base) => self.repository.history(base)?,
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
                    state.join_delta(&record.delta)?;
                }
            }
        }
        Ok(state)
    }
}

impl Reader<'_> {
    /// Returns who last set each field that is not empty, and when.
    pub(super) fn blame(&self, id: &str) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let lineage = catalog.resolve_any(id)?;
        let Some(bead) = catalog.bead(lineage) else { return Ok(Answer::Blame(Vec::new())) };
        let field = |field: &Field| {
            let (mark, value) = (bead.mark(*field), bead.value_json(*field));
            // Leave out empty fields that were never set.
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

/// Adds the edges that start at a bead to its history, with the current ids of their targets.
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
        history.record_edge(key.kind, to, edge);
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
