use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Applied, Dep, DepRole};
use crate::{
    Actor, BeadId, Catalog, Claim, Context, Delta, Edge, EdgeKind, Error, Estimate, Label, Labels, Line,
    Lineage, Metadata, Note, Patch, Priority, Register, Result, Slot, Status, Text, Timestamp, Title,
    TypeGroup, TypeName,
};

/// Creates a bead together with its parent and dependencies, in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Title, on one line
    pub title: Title,
    /// Id for the new bead, never used before in this store; generated if absent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<BeadId>,
    /// Type of work
    #[serde(default, rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::BeadType"))]
    pub kind: TypeName,
    /// Priority: 0 (urgent) to 4 (someday)
    #[serde(default)]
    pub priority: Priority,
    /// Description
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub description: Text,
    /// Design: how to do it
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub design: Text,
    /// Acceptance criteria: when it is done
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub acceptance_criteria: Text,
    /// First note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub notes: Text,
    /// Assignee
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Actor>,
    /// Labels
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Labels"))]
    pub labels: Vec<Label>,
    /// Parent bead
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::BeadRef>"))]
    pub parent: Option<String>,
    /// Dependencies: id, depends-on:id, blocked-by:id, blocks:id, related:id or discovered-from:id
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::schema::BeadRef>", length(max = 1000)))]
    pub deps: Vec<Dep>,
    /// Reference to another tracker
    #[serde(default, skip_serializing_if = "Line::is_empty")]
    pub external_ref: Line,
    /// Repository it came from
    #[serde(default, skip_serializing_if = "Line::is_empty")]
    pub source_repo: Line,
    /// Estimated time in minutes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_minutes: Option<Estimate>,
    /// Due date
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Not ready before this time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer_until: Option<Timestamp>,
    /// Metadata for other tools, as a JSON object
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

impl Create {
    /// Returns the arguments for a bead with a title and otherwise default values.
    pub fn titled(title: Title) -> Self {
        Self {
            title,
            id: None,
            kind: TypeName::default(),
            priority: Priority::default(),
            description: Text::default(),
            design: Text::default(),
            acceptance_criteria: Text::default(),
            notes: Text::default(),
            assignee: None,
            labels: Vec::new(),
            parent: None,
            deps: Vec::new(),
            external_ref: Line::default(),
            source_repo: Line::default(),
            estimated_minutes: None,
            due_at: None,
            defer_until: None,
            metadata: Metadata::default(),
        }
    }

    pub(super) fn references_mut(&mut self) -> Vec<&mut String> {
        self.parent.iter_mut().chain(self.deps.iter_mut().map(|dep| &mut dep.id)).collect()
    }

    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let parent = self.parent.as_deref().map(|name| catalog.resolve_to_change(name)).transpose()?;
        let mut ends = Vec::new();
        for dep in &self.deps {
            ends.push((catalog.resolve_to_change(&dep.id)?.clone(), dep.role));
        }
        check_cycles(catalog, &ends)?;
        ends.extend(parent.map(|parent| (parent.clone(), DepRole::Parent)));
        let id = self.choose_id(catalog, parent, context)?;
        let mark = context.mark([])?;
        let lineage = Lineage::new(id, mark.at(), mark.by().clone());
        let edges: BTreeMap<_, _> =
            ends.iter().map(|(end, role)| (role.edge(&lineage, end), Edge::added(mark.clone()))).collect();
        let kind = self.kind.resolve(catalog.state())?;
        let patch = self.birth(&lineage, &kind, context)?;
        let beads = BTreeMap::from([(lineage.clone(), patch)]);
        Ok(Applied::bead(&lineage, Delta { beads, edges, ..Delta::default() }))
    }

    fn birth(&self, lineage: &Lineage, kind: &TypeGroup, context: &Context<'_>) -> Result<Patch> {
        fn at<T: Clone + PartialEq>(lineage: &Lineage, value: &T) -> Option<Register<T>> {
            Some(Register::new(lineage.mark(), value.clone()))
        }
        let mark = lineage.mark();
        let labels: Labels = self.labels.clone().try_into()?;
        let note = |text: &Text| Arc::new(Note::new(lineage, &mark, text.clone(), Some(Slot::Notes)));
        Ok(Patch {
            title: at(lineage, &self.title),
            description: at(lineage, &self.description),
            priority: at(lineage, &self.priority),
            kind: at(lineage, kind),
            labels: at(lineage, &labels),
            design: at(lineage, &self.design),
            acceptance_criteria: at(lineage, &self.acceptance_criteria),
            external_ref: at(lineage, &self.external_ref),
            source_repo: at(lineage, &self.source_repo),
            estimated_minutes: at(lineage, &self.estimated_minutes),
            due_at: at(lineage, &self.due_at),
            defer_until: at(lineage, &self.defer_until),
            metadata: at(lineage, &self.metadata),
            status: at(lineage, &Status::Open.into()),
            claim: Some(Claim::new(mark.clone(), self.assignee.clone(), None)),
            notes: if self.notes.is_empty() { Vec::new() } else { vec![note(&self.notes)] },
            deletion: None,
            created_on_branch: context.branch.clone(),
        })
    }

    fn choose_id(
        &self,
        catalog: &Catalog,
        parent: Option<&Lineage>,
        context: &mut Context<'_>,
    ) -> Result<BeadId> {
        let names = catalog.state().names();
        if let Some(id) = &self.id {
            if !id.is_valid_birth_id() {
                return Err(Error::invalid("id", format!("{id} is longer than 128 characters")));
            }
            if names.is_known(id) {
                return Err(Error::IdTaken(id.clone()));
            }
            return Ok(id.clone());
        }
        if let Some(parent) = parent {
            return next_child(catalog, catalog.id_of(parent));
        }
        let prefix = &catalog.state().prefix().prefix;
        let length = minted_length(catalog.state().beads().len());
        // On a collision, draw another id of the same length, not a longer one (§4.1.2).
        loop {
            let id: BeadId = format!("{prefix}-{}", base36((context.random)(), length)).parse()?;
            if !names.is_known(&id) {
                return Ok(id);
            }
        }
    }
}

/// Refuses dependencies that would close a cycle through the bead: a bead that it waits for already waits,
/// directly or indirectly, for a bead that it would block.
pub(super) fn check_cycles(catalog: &Catalog, ends: &[(Lineage, DepRole)]) -> Result<()> {
    let with = |role: DepRole| ends.iter().filter(move |end| end.1 == role).map(|end| &end.0);
    for awaited in with(DepRole::DependsOn) {
        for waiting in with(DepRole::Blocks) {
            if let Some(path) = catalog.path(awaited, waiting, EdgeKind::Blocks) {
                return Err(Error::Cycle(
                    path.iter().map(|lineage| catalog.id_of(lineage).clone()).collect(),
                ));
            }
        }
    }
    Ok(())
}

fn next_child(catalog: &Catalog, parent: &BeadId) -> Result<BeadId> {
    let names = catalog.state().names();
    let mut number = names.next_child_number(parent);
    loop {
        let id: BeadId = format!("{parent}.{number}").parse()?;
        if !id.is_valid_birth_id() {
            return Err(Error::invalid("parent", format!("the id of a child of {parent} would be too long")));
        }
        if !names.is_known(&id) {
            return Ok(id);
        }
        // An explicit id may use the greatest number; continue at 0 then.
        number = number.wrapping_add(1);
    }
}

/// Returns the length of generated ids: long enough that replicas seldom generate the same one, short enough
/// to type.
fn minted_length(beads: usize) -> u32 {
    match beads {
        0..1_000 => 4,
        1_000..20_000 => 5,
        20_000..500_000 => 6,
        _ => 7,
    }
}

fn base36(random: u64, length: u32) -> String {
    let mut rest = random % 36_u64.pow(length);
    let mut digits = vec![b'0'; length as usize];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
        rest /= 36;
    }
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the function alone, because creating a store of half a million beads takes too long.
    #[test]
    fn ids_grow_with_the_store() {
        for (beads, length) in [
            (0, 4),
            (999, 4),
            (1_000, 5),
            (19_999, 5),
            (20_000, 6),
            (499_999, 6),
            (500_000, 7),
            (usize::MAX, 7),
        ] {
            assert_eq!(minted_length(beads), length, "{beads}");
        }
    }

    #[test]
    fn base36_encodes_the_random_number_modulo_the_length() {
        for (random, length, digits) in
            [(0, 4, "0000"), (35, 1, "z"), (36, 2, "10"), (36, 1, "0"), (u64::MAX, 7, "264sgsf")]
        {
            assert_eq!(base36(random, length), digits);
        }
    }
}
