//! The context a worker needs to begin, so that a claim needs no second query.

use std::fmt::Write;

use beads_core::{Actor, BeadId, BeadView, Catalog, EdgeKind, Lineage, Nullable, Text, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::NoteAnswer;
use super::detail;
use super::style::Style;
use crate::escape::escape;

/// How many notes a brief has. The bead has all of them.
const NEWEST_NOTES: usize = 5;

/// The context a worker needs to begin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Brief {
    /// The title.
    pub title: Title,
    /// The description.
    pub description: Text,
    /// The acceptance criteria.
    pub acceptance_criteria: Nullable<Text>,
    /// The newest notes, in chronological order.
    pub notes: Vec<NoteAnswer>,
    /// The finished beads that blocked this one.
    pub blockers: Vec<Resolved>,
    /// The parent.
    pub parent: Option<BeadId>,
    /// The title of the parent.
    pub parent_title: Option<Title>,
    /// Whether the remote confirmed the claim.
    pub confirmed: bool,
}

/// A finished blocker.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Resolved {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// Why it was closed.
    pub close_reason: Nullable<Text>,
    /// The actor who closed it.
    pub closed_by: Option<Actor>,
}

impl Brief {
    /// Returns the brief of a bead.
    pub fn of(catalog: &Catalog, lineage: &Lineage, view: &BeadView) -> Self {
        let title = |lineage: &Lineage| catalog.bead(lineage).map(|bead| bead.title.value.clone());
        let blockers = catalog.targets(lineage, EdgeKind::Blocks).filter_map(|blocker| {
            let row = catalog.row(blocker)?.facts;
            let row = Some(row).filter(|row| row.deleted.is_none() && row.closed_at.is_some())?;
            Some(Resolved {
                id: row.id,
                title: row.title,
                close_reason: row.close_reason,
                closed_by: row.closed_by,
            })
        });
        let older = view.notes.len().saturating_sub(NEWEST_NOTES);
        Self {
            title: view.title.clone(),
            description: view.description.clone(),
            acceptance_criteria: view.acceptance_criteria.clone(),
            notes: view.notes[older..].iter().map(|note| NoteAnswer::new(&view.id, note)).collect(),
            blockers: blockers.collect(),
            parent: view.parent.clone(),
            parent_title: catalog.parent(lineage).and_then(title),
            confirmed: false,
        }
    }

    /// Writes the brief as text.
    pub(super) fn text(&self, out: &mut String, style: Style) {
        if let (Some(parent), Some(title)) = (&self.parent, &self.parent_title) {
            let line = format!("part of {parent}: {}", escape(title.as_str()));
            let _ = writeln!(out, "{}", style.faint(&line));
        }
        if self.confirmed {
            let _ = writeln!(out, "{}", style.faint("confirmed by the remote"));
        }
        detail::section(out, "Description", self.description.non_empty(), style);
        detail::section(out, "Acceptance criteria", self.acceptance_criteria.get(), style);
        if !self.blockers.is_empty() {
            let _ = writeln!(out, "\n{}", style.bold("Finished blockers"));
        }
        for blocker in &self.blockers {
            let reason = blocker.close_reason.get().map(|reason| format!(": {}", escape(reason)));
            let (id, title) = (style.id(blocker.id.as_str()), escape(blocker.title.as_str()));
            let _ = writeln!(out, "  {id}  {title}{}", reason.unwrap_or_default());
        }
        if !self.notes.is_empty() {
            let _ = writeln!(out, "\n{}", style.bold("Newest notes"));
            detail::notes(out, &self.notes, style);
        }
    }
}
