use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::present;
use super::claim::{ClaimBead, new_claim, renewal};
use super::close_check::CloseCheck;
use super::lease::check_lease;
use super::{Applied, Change, Dep, DepRole, Guard, Warning};
use crate::{
    Actor, Bead, Catalog, Claim, Context, Delta, Edge, EdgeKey, EdgeKind, Estimate, Label, Labels, Line,
    Lineage, Mark, Metadata, Note, Patch, Priority, Register, Result, Slot, Stamp, Status, StatusGroup,
    StatusName, Text, Timestamp, Title, TypeName,
};

/// Changes fields of a bead. Absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Update {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Title, on one line
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// Description
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// Priority: 0 (urgent) to 4 (someday)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Type of work
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::BeadType>"))]
    pub kind: Option<TypeName>,
    /// New status
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Status>"))]
    pub status: Option<StatusName>,
    /// Assignee; null clears it
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub assignee: Option<Change<Actor>>,
    /// Claim the bead for the caller: assignee, lease and status in one step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub claim: bool,
    /// Replace all labels
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Labels>"))]
    pub set_labels: Option<Vec<Label>>,
    /// Labels to add
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Labels"))]
    pub add_labels: Vec<Label>,
    /// Labels to remove
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Labels"))]
    pub remove_labels: Vec<Label>,
    /// Design: how to do it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Text>,
    /// Acceptance criteria: when it is done
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Text>,
    /// Set the notes text; earlier texts stay in the log
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Text>,
    /// Set the notes text to the current one followed by this text on a new line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub append_notes: Option<Text>,
    /// Why the status or the assignee changes, recorded as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// Reference to another tracker
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<Line>,
    /// Repository it came from
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_repo: Option<Line>,
    /// Estimated time in minutes; null clears it
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub estimated_minutes: Option<Change<Estimate>>,
    /// Due date; null clears it
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub due_at: Option<Change<Timestamp>>,
    /// Not ready before this time; null clears it
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub defer_until: Option<Change<Timestamp>>,
    /// Replace all metadata
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// End another actor's claim; needs a reason
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Refuse to close the bead where `bd close` would only warn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub strict: bool,
    /// New parent bead; null removes the parent
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Change<crate::schema::BeadRef>>"))]
    pub parent: Option<Change<String>>,
    /// Dependencies to add. Existing ones stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub deps: Vec<Dep>,
}

impl Update {
    /// Returns the equivalent claim if this update claims the bead and changes nothing else.
    pub fn as_claim(&self) -> Option<ClaimBead> {
        let (id, guard) = (self.id.clone(), self.guard.clone());
        let alone = Self { id: id.clone(), guard: guard.clone(), claim: true, ..Self::default() };
        (*self == alone).then(|| ClaimBead { id, guard, ..ClaimBead::default() })
    }

    /// Returns an update of a bead that changes nothing yet.
    pub fn of(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    pub(super) fn references_mut(&mut self) -> Vec<&mut String> {
        let parent = self.parent.iter_mut().filter_map(|change| match change {
            Change::Set(parent) => Some(parent),
            Change::Clear => None,
        });
        let deps = self.deps.iter_mut().map(|dep| &mut dep.id);
        [&mut self.id].into_iter().chain(parent).chain(deps).collect()
    }

    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        if self.claim {
            super::claim::check_free(catalog, lineage, bead, context)?;
        }
        let warnings = self.check_claim(catalog, lineage, bead, context)?;
        let mut edges = self.parent_edges(catalog, lineage)?;
        edges.extend(self.new_edges(catalog, lineage)?);
        let overwritten: Vec<Stamp> = bead
            .stamps()
            .chain(edges.iter().filter_map(|(key, _)| Some(catalog.state().edge(key)?.changed.at())))
            .collect();
        let mark = context.mark(overwritten)?;
        let mut patch = self.patch(catalog, lineage, bead, &mark, context)?;
        if patch == Patch::default() && edges.is_empty() {
            return Ok(Applied::bead(lineage, Delta::default()));
        }
        if patch.claim.is_none() {
            patch.claim = renewal(bead, &mark, context)?;
        }
        let closes = patch.status.as_ref().is_some_and(|group| group.value.status == Status::Closed);
        let unblocked = if closes { catalog.waiting_only_for(lineage) } else { Vec::new() };
        let fence = if self.claim { patch.claim.as_ref().and_then(Claim::fence) } else { None };
        let mut delta = Delta::default();
        if patch != Patch::default() {
            delta.beads.insert(lineage.clone(), patch);
        }
        for (key, deleted) in edges {
            let created =
                catalog.state().edge(&key).filter(|_| deleted).map_or(&mark, |edge| &edge.created).clone();
            delta.edges.insert(key, Edge { created, changed: mark.clone(), deleted });
        }
        Ok(Applied { unblocked, fence, warnings, ..Applied::bead(lineage, delta) })
    }

    /// Refuses a change that would end another actor's claim, and runs the checks of `close` if the bead is
    /// closed.
    fn check_claim(
        &self,
        catalog: &Catalog,
        lineage: &Lineage,
        bead: &Bead,
        context: &Context<'_>,
    ) -> Result<Vec<Warning>> {
        let force = self.force.then_some(&self.reason);
        let reassigns =
            self.assignee.as_ref().is_some_and(|change| change.value() != bead.claim.assignee.as_ref());
        let wanted = self.wanted_status(catalog)?;
        if reassigns || self.ends_claim(wanted.as_ref(), bead) {
            check_lease(catalog, lineage, bead, context, force)?;
        }
        let closes = wanted.is_some_and(|wanted| wanted.status == Status::Closed);
        if closes {
            super::close::check_not_cancelled(catalog, lineage, bead)?;
        }
        if !closes || bead.status.value.status == Status::Closed {
            return Ok(Vec::new());
        }
        let strict = self.strict || self.guard.fence.is_some();
        CloseCheck { strict, force: self.force }.check(catalog, lineage, bead, context)
    }

    /// Builds a patch of the fields that really change. Writing an unchanged value again would win over a
    /// concurrent change of that field.
    fn patch(
        &self,
        catalog: &Catalog,
        lineage: &Lineage,
        bead: &Bead,
        mark: &Mark,
        context: &Context<'_>,
    ) -> Result<Patch> {
        fn set<T: Clone + PartialEq>(mark: &Mark, old: &Register<T>, new: Option<T>) -> Option<Register<T>> {
            new.filter(|new| *new != old.value).map(|new| Register::new(mark.clone(), new))
        }
        fn unless_cleared<T: Copy>(change: Option<&Change<T>>) -> Option<Option<T>> {
            change.map(|change| change.value().copied())
        }
        let (status, claim) = self.status_and_claim(catalog, bead, mark, context)?;
        let kind = self.kind.as_ref().map(|kind| kind.resolve(catalog.state())).transpose()?;
        let notes = [self.notes.clone(), self.notes_with_appended(bead)?];
        let mut notes: Vec<_> = notes
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .map(|text| Arc::new(Note::new(lineage, mark, text, Some(Slot::Notes))))
            .collect();
        let closes = bead.status.value.status != Status::Closed
            && status.as_ref().is_some_and(|group| group.status == Status::Closed);
        // When the bead is closed, the reason goes into the status register instead.
        if (status.is_some() || claim.is_some()) && !closes && !self.reason.is_empty() {
            notes.push(Arc::new(Note::new(lineage, mark, self.reason.clone(), None)));
        }
        Ok(Patch {
            title: set(mark, &bead.title, self.title.clone()),
            description: set(mark, &bead.description, self.description.clone()),
            priority: set(mark, &bead.priority, self.priority),
            kind: set(mark, &bead.kind, kind),
            labels: set(mark, &bead.labels, self.labels(bead)?),
            design: set(mark, &bead.design, self.design.clone()),
            acceptance_criteria: set(mark, &bead.acceptance_criteria, self.acceptance_criteria.clone()),
            external_ref: set(mark, &bead.external_ref, self.external_ref.clone()),
            source_repo: set(mark, &bead.source_repo, self.source_repo.clone()),
            estimated_minutes: set(
                mark,
                &bead.estimated_minutes,
                unless_cleared(self.estimated_minutes.as_ref()),
            ),
            due_at: set(mark, &bead.due_at, unless_cleared(self.due_at.as_ref())),
            defer_until: set(mark, &bead.defer_until, unless_cleared(self.defer_until.as_ref())),
            metadata: set(mark, &bead.metadata, self.metadata.clone()),
            status: status.map(|group| Register::new(mark.clone(), group)),
            claim,
            notes,
            deletion: None,
            created_on_branch: Line::default(),
        })
    }

    fn labels(&self, bead: &Bead) -> Result<Option<Labels>> {
        if self.set_labels.is_none() && self.add_labels.is_empty() && self.remove_labels.is_empty() {
            return Ok(None);
        }
        let base = match &self.set_labels {
            Some(labels) => labels.clone().try_into()?,
            None => bead.labels.value.clone(),
        };
        Ok(Some(base.without(&self.remove_labels).with(&self.add_labels)?))
    }

    fn status_and_claim(
        &self,
        catalog: &Catalog,
        bead: &Bead,
        mark: &Mark,
        context: &Context<'_>,
    ) -> Result<(Option<StatusGroup>, Option<Claim>)> {
        if self.claim {
            let (claim, _) = new_claim(bead, mark, None, context)?;
            return Ok((None, Some(claim)));
        }
        let wanted = self.wanted_status(catalog)?;
        let claim = match &self.assignee {
            Some(change) if change.value() != bead.claim.assignee.as_ref() => {
                Some(Claim::new(mark.clone(), change.value().cloned(), None))
            }
            _ if self.ends_claim(wanted.as_ref(), bead) => Some(Claim::new(mark.clone(), None, None)),
            _ => None,
        };
        let old = &bead.status.value;
        let new = match wanted {
            // The claim already makes it in progress.
            Some(new)
                if new == Status::InProgress.into()
                    && claim.is_none()
                    && old.word.is_none()
                    && bead.status() == Status::InProgress =>
            {
                None
            }
            // Reassigning ends the claim, and the new assignee has not started.
            None if claim.is_some() && bead.claim.is_taken() && old.status == Status::InProgress => {
                Some(Status::Open.into())
            }
            wanted => wanted,
        };
        let status = new.filter(|new| (new.status, &new.word) != (old.status, &old.word)).map(|new| {
            match (old.status, new.status) {
                // Only the word changes; the bead stays closed as it was.
                (Status::Closed, Status::Closed) => StatusGroup { word: new.word, ..old.clone() },
                (_, Status::Closed) => StatusGroup {
                    closed_reason: self.reason.clone(),
                    closed_on_branch: context.branch.clone(),
                    ..new
                },
                _ => new,
            }
        });
        Ok((status, claim))
    }

    fn wanted_status(&self, catalog: &Catalog) -> Result<Option<StatusGroup>> {
        self.status.as_ref().map(|name| name.resolve(catalog.state())).transpose()
    }

    /// Returns whether the update sets a claimed bead back to plain `open` without naming an assignee. That
    /// ends the claim, because an open bead has none.
    fn ends_claim(&self, wanted: Option<&StatusGroup>, bead: &Bead) -> bool {
        wanted.is_some_and(|wanted| *wanted == Status::Open.into())
            && self.assignee.is_none()
            && bead.status() == Status::InProgress
            && bead.claim.is_taken()
    }

    /// Returns the current notes text with `append_notes` at the end.
    fn notes_with_appended(&self, bead: &Bead) -> Result<Option<Text>> {
        let Some(more) = &self.append_notes else { return Ok(None) };
        let in_order = bead.notes_in_order();
        let newest = in_order.iter().rev().find(|note| note.slot == Some(Slot::Notes));
        match newest.and_then(|note| note.content.non_empty()) {
            Some(before) if !more.is_empty() => format!("{before}\n{more}").parse().map(Some),
            _ => Ok(Some(more.clone())),
        }
    }

    /// Returns the edges to add, except existing ones.
    fn new_edges(&self, catalog: &Catalog, lineage: &Lineage) -> Result<Vec<(EdgeKey, bool)>> {
        let mut edges = Vec::new();
        for dep in &self.deps {
            let key = dep.role.edge(lineage, catalog.resolve_to_change(&dep.id)?);
            if let (Some(from), Some(to)) = (key.from.lineage(), key.to.lineage()) {
                super::dep_add::check_edge(catalog, from, to, key.kind)?;
            }
            if catalog.state().edge(&key).is_none_or(|edge| edge.deleted) {
                edges.push((key, false));
            }
        }
        super::create::check_cycles(catalog, &self.ends(catalog)?)?;
        Ok(edges)
    }

    fn ends(&self, catalog: &Catalog) -> Result<Vec<(Lineage, DepRole)>> {
        self.deps.iter().map(|dep| Ok((catalog.resolve_to_change(&dep.id)?.clone(), dep.role))).collect()
    }

    /// Returns the parent edges to write, each with whether it is removed.
    fn parent_edges(&self, catalog: &Catalog, lineage: &Lineage) -> Result<Vec<(EdgeKey, bool)>> {
        let Some(change) = &self.parent else { return Ok(Vec::new()) };
        let new = change.value().map(|name| catalog.resolve_to_change(name)).transpose()?;
        let old: Vec<_> = catalog.targets(lineage, EdgeKind::Parent).collect();
        let mut edges: Vec<_> = old
            .iter()
            .filter(|parent| Some(**parent) != new)
            .map(|parent| (EdgeKey::new(lineage, parent, EdgeKind::Parent), true))
            .collect();
        if let Some(new) = new
            && !old.contains(&new)
        {
            super::dep_add::check_edge(catalog, lineage, new, EdgeKind::Parent)?;
            edges.push((EdgeKey::new(lineage, new, EdgeKind::Parent), false));
        }
        Ok(edges)
    }
}
