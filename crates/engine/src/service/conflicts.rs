use std::collections::BTreeSet;

use beads_core::op::{ConflictDismiss, ConflictRestore};
use beads_core::{Catalog, Conflict, ConflictId, Field, Lineage, Op};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::{Code, Failure};
use crate::render::{Answer, CONFLICT_PREFIX, ConflictAnswer};
use crate::request::{Mutate, Request, ResolveConflicts};

/// The number of digits in the id of a conflict.
const CONFLICT_DIGITS: usize = 32;

/// The fewest digits that identify a conflict.
const MIN_DIGITS: usize = 4;

impl Service {
    /// Lists concurrent writes that lost, the most important ones first, and beads that lost their id to
    /// older beads. `all` includes dismissed conflicts.
    pub(super) fn conflicts(&self, all: bool, bead: Option<&str>) -> Result<Answer, Failure> {
        let catalog = self.replica.catalog();
        let bead = bead.map(|id| catalog.resolve_any(id)).transpose()?;
        let is_wanted = |lineage: &Lineage| bead.is_none_or(|wanted| wanted == lineage);
        let conflicts = catalog.state().conflicts().iter();
        let mut shown: Vec<_> = conflicts
            .filter(|(_, conflict)| all || conflict.dismissed.is_none())
            .filter(|(_, conflict)| is_wanted(&conflict.bead))
            .collect();
        // The sort is stable: conflicts of equal importance stay in the order of their ids.
        shown.sort_by_key(|(_, conflict)| importance(conflict.field));
        let mut answers: Vec<_> =
            shown.into_iter().map(|(id, conflict)| concurrent_write(catalog, id, conflict)).collect();
        let vacated = catalog.state().names().vacated();
        let lost_ids: BTreeSet<&Lineage> =
            vacated.values().flatten().filter(|lineage| is_wanted(lineage)).collect();
        answers.extend(lost_ids.into_iter().map(|lineage| remapped(catalog, lineage)));
        Ok(Answer::Conflicts(answers))
    }

    /// Dismisses conflicts, or restores the values that lost.
    pub(super) fn resolve_conflicts(
        &mut self,
        request: &Request,
        asked: &ResolveConflicts,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let ids =
            if asked.all { self.open_conflicts(asked.bead.as_deref())? } else { self.named(&asked.ids)? };
        let op = |id| {
            if asked.restore {
                Op::ConflictRestore(ConflictRestore { id })
            } else {
                Op::ConflictDismiss(ConflictDismiss { id })
            }
        };
        let mutate = Mutate { ops: ids.into_iter().map(op).collect(), many: true, dry_run: false };
        self.mutate(request, &mutate, dialect)
    }

    fn open_conflicts(&self, bead: Option<&str>) -> Result<Vec<ConflictId>, Failure> {
        let catalog = self.replica.catalog();
        let bead = bead.map(|id| catalog.resolve_any(id)).transpose()?;
        let is_open = |conflict: &Conflict| {
            conflict.dismissed.is_none() && bead.is_none_or(|wanted| *wanted == conflict.bead)
        };
        let conflicts = catalog.state().conflicts().iter();
        Ok(conflicts.filter(|(_, conflict)| is_open(conflict)).map(|(id, _)| id.clone()).collect())
    }

    /// Resolves ids and abbreviations of conflicts. An unknown one is an error, so that nothing is changed.
    fn named(&self, ids: &[String]) -> Result<Vec<ConflictId>, Failure> {
        ids.iter().map(|id| self.conflict_id(id)).collect()
    }

    /// Returns the conflict whose id begins with `text`, with or without `CONFLICT-`.
    fn conflict_id(&self, text: &str) -> Result<ConflictId, Failure> {
        let digits = text.strip_prefix(CONFLICT_PREFIX).unwrap_or(text);
        let is_hex = |c: char| c.is_ascii_digit() || matches!(c, 'a'..='f');
        if digits.len() < MIN_DIGITS || digits.len() > CONFLICT_DIGITS || !digits.chars().all(is_hex) {
            return Err(Failure::invalid(format!(
                "{text:?} is not the id of a conflict: {CONFLICT_PREFIX} and {MIN_DIGITS} to {CONFLICT_DIGITS} \
                 hexadecimal digits; nothing was changed"
            )));
        }
        let whole = format!("{CONFLICT_PREFIX}{digits}");
        let conflicts = self.replica.catalog().state().conflicts();
        let mut found = conflicts.keys().filter(|id| id.as_str().starts_with(&whole));
        match (found.next(), found.next()) {
            (Some(id), None) => Ok(id.clone()),
            (Some(_), Some(_)) => Err(Failure::new(
                Code::AmbiguousId,
                format!("several conflicts begin with {whole}; give more digits. Nothing was changed"),
            )),
            (None, _) => Err(no_conflict(&whole)),
        }
    }

    /// Returns the undismissed conflicts of one bead.
    pub(super) fn conflicts_of(&self, lineage: &Lineage) -> Vec<ConflictAnswer> {
        let catalog = self.replica.catalog();
        let conflicts = catalog.state().conflicts().iter();
        let own = conflicts.filter(|(_, one)| one.bead == *lineage && one.dismissed.is_none());
        own.map(|(id, conflict)| concurrent_write(catalog, id, conflict)).collect()
    }

    /// Shows one conflict.
    pub(super) fn conflict(&self, id: &str) -> Result<Answer, Failure> {
        let id = self.conflict_id(id)?;
        let catalog = self.replica.catalog();
        let conflict = catalog.state().conflicts().get(&id);
        let conflict = conflict.ok_or_else(|| no_conflict(&id))?;
        Ok(Answer::Conflict(Box::new(concurrent_write(catalog, &id, conflict))))
    }
}

/// Ranks conflicts by what was lost: text that a person wrote comes first, a lost claim last.
fn importance(field: Field) -> u8 {
    match field {
        Field::Title | Field::Description | Field::Design | Field::AcceptanceCriteria => 0,
        Field::Assignee | Field::AssigneeExpires => 2,
        _ => 1,
    }
}

fn concurrent_write(catalog: &Catalog, id: &ConflictId, conflict: &Conflict) -> ConflictAnswer {
    let bead = catalog.bead(&conflict.bead);
    ConflictAnswer {
        id: id.to_string(),
        kind: "concurrent_write",
        bead: catalog.id_of(&conflict.bead).clone(),
        title: bead.map(|bead| bead.title.value.clone()),
        field: Some(conflict.field.name()),
        value: conflict.value.clone(),
        current: bead.map(|bead| bead.value_json(conflict.field)).unwrap_or_default(),
        at: conflict.lost.at(),
        by: conflict.lost.by().clone(),
        won_at: Some(conflict.won.at()),
        won_by: Some(conflict.won.by().clone()),
        current_by: bead
            .map(|bead| bead.mark(conflict.field))
            .filter(|mark| **mark != conflict.won)
            .map(|mark| mark.by().clone()),
        dismissed: conflict.dismissed.is_some(),
        born: None,
    }
}

/// Describes a bead whose id has changed since its creation, because an older bead had the same id.
fn remapped(catalog: &Catalog, lineage: &Lineage) -> ConflictAnswer {
    let id = catalog.id_of(lineage);
    ConflictAnswer {
        id: format!("remapped:{id}"),
        kind: "remapped",
        bead: id.clone(),
        title: catalog.bead(lineage).map(|bead| bead.title.value.clone()),
        field: None,
        value: lineage.birth_id().as_str().into(),
        current: id.as_str().into(),
        at: lineage.at(),
        by: lineage.by().clone(),
        won_at: None,
        won_by: None,
        current_by: None,
        dismissed: false,
        born: Some(lineage.birth_id().clone()),
    }
}

/// Returns the failure for an unknown conflict.
fn no_conflict(id: impl std::fmt::Display) -> Failure {
    let message = format!("there is no conflict {id}; bd conflicts lists the open ones");
    Failure { details: serde_json::json!({"kind": "conflict"}), ..Failure::new(Code::NotFound, message) }
}
