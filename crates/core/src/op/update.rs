use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::change::present;
use super::claim::{ClaimBead, claimed, renewal};
use super::close_check::CloseCheck;
use super::lease::check_lease;
use super::{Applied, Change, Dep, DepRole, Guard, Warning};
use crate::{
    Actor, Bead, Catalog, Claim, Context, Delta, Edge, EdgeKey, EdgeKind, Error, Estimate, Label, Labels,
    Line, Lineage, Mark, Metadata, Note, Patch, Priority, Register, Result, Slot, Stamp, Status, StatusGroup,
    StatusName, Text, Timestamp, Title, TypeName,
};

/// Changes fields of one bead. What is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Update {
    /// The bead, or a beginning of its id that fits only one
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    #[serde(flatten)]
    pub guard: Guard,
    /// What is to be done, on one line
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// The whole story
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// 0 (urgent) to 4 (some day)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// What sort of work it is
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::BeadType>"))]
    pub kind: Option<TypeName>,
    /// The stored status
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Status>"))]
    pub status: Option<StatusName>,
    /// Who should do it; null for nobody
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub assignee: Option<Change<Actor>>,
    /// Takes the bead for the caller: assignee, lease and status in one step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub claim: bool,
    /// All labels anew
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Labels>"))]
    pub set_labels: Option<Vec<Label>>,
    /// Labels to add
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Labels"))]
    pub add_labels: Vec<Label>,
    /// Labels to take away
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Labels"))]
    pub remove_labels: Vec<Label>,
    /// How it is to be done
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Text>,
    /// When it counts as done
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Text>,
    /// Appends a note; earlier ones stay
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Text>,
    /// Appends to the log the newest text of the notes with this behind it, on lines of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub append_notes: Option<Text>,
    /// Why the status or the assignee changes; kept as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// A pointer into another tracker
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<Line>,
    /// The repository it came from
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_repo: Option<Line>,
    /// How long it should take; null for no estimate
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub estimated_minutes: Option<Change<Estimate>>,
    /// When it is due; null for never
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub due_at: Option<Change<Timestamp>>,
    /// Not ready before this time; null for at once
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub defer_until: Option<Change<Timestamp>>,
    /// All metadata anew
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Take it out of another actor's claim, with a reason
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Refuses to close what `bd close` would only warn about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub strict: bool,
    /// Move it under this bead; null takes it out from under its parent
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Change<crate::schema::BeadRef>>"))]
    pub parent: Option<Change<String>>,
    /// Dependencies to add; those that are there already stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub deps: Vec<Dep>,
}

impl Update {
    /// The claim that this update is, when it changes nothing else.
    pub fn as_claim(&self) -> Option<ClaimBead> {
        let (id, guard) = (self.id.clone(), self.guard.clone());
        let alone = Self { id: id.clone(), guard: guard.clone(), claim: true, ..Self::default() };
        (*self == alone).then(|| ClaimBead { id, guard, ..ClaimBead::default() })
    }

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
        let lineage = catalog.resolve_to_change(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
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

    /// What the change does to a claim must be the caller's to do, and a closing is checked like any other.
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

    /// Only what really changes is written: a write that repeats a value would win over a concurrent real change.
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
        let notes = [self.notes.clone(), self.appended(bead)?];
        let mut notes: Vec<_> = notes
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .map(|text| Arc::new(Note::new(lineage, mark, text, Some(Slot::Notes))))
            .collect();
        let closes = bead.status.value.status != Status::Closed
            && status.as_ref().is_some_and(|group| group.status == Status::Closed);
        // A closing has its reason beside it.
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
            let (claim, _) = claimed(bead, mark, None, context)?;
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
            // It is in progress already, by its claim.
            Some(new)
                if new == Status::InProgress.into()
                    && claim.is_none()
                    && old.word.is_none()
                    && bead.status() == Status::InProgress =>
            {
                None
            }
            // A claim that goes to another hand is over, so the work has not begun.
            None if claim.is_some() && bead.claim.is_taken() && old.status == Status::InProgress => {
                Some(Status::Open.into())
            }
            wanted => wanted,
        };
        let status = new.filter(|new| (new.status, &new.word) != (old.status, &old.word)).map(|new| {
            match (old.status, new.status) {
                // Another word for the same closing.
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

    /// Back to plain `open` without a word about the assignee: an open bead has no claim.
    fn ends_claim(&self, wanted: Option<&StatusGroup>, bead: &Bead) -> bool {
        wanted.is_some_and(|wanted| *wanted == Status::Open.into())
            && self.assignee.is_none()
            && bead.status() == Status::InProgress
            && bead.claim.is_taken()
    }

    /// The newest text of the notes with the new one behind it.
    fn appended(&self, bead: &Bead) -> Result<Option<Text>> {
        let Some(more) = &self.append_notes else { return Ok(None) };
        let in_order = bead.notes_in_order();
        let newest = in_order.iter().rev().find(|note| note.slot == Some(Slot::Notes));
        match newest.and_then(|note| note.content.non_empty()) {
            Some(before) if !more.is_empty() => format!("{before}\n{more}").parse().map(Some),
            _ => Ok(Some(more.clone())),
        }
    }

    /// Edges to add, without those that are there.
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

    /// The edges to touch, each with whether it goes.
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
