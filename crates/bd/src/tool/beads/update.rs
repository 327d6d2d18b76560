use beads_core::op::{self, Change};
use beads_core::{
    Actor, BeadType, Estimate, Label, Line, Metadata, Op, Priority, Status, Text, Timestamp, Title,
};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::guard::Guard;
use super::{output, time};
use crate::tool::field::{self, OrNull};
use crate::tool::{Definition, Mutation};

/// Change fields of a bead
///
/// What is not named stays as it is. An empty text, or null where it is allowed, clears a field.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Update {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    #[serde(flatten)]
    guard: Guard,
    /// What is to be done, on one line
    #[serde(default)]
    #[schemars(with = "field::Title")]
    title: Option<Title>,
    /// The whole story
    #[serde(default)]
    #[schemars(with = "field::Text")]
    description: Option<Text>,
    /// 0 (urgent) to 4 (some day)
    #[serde(default)]
    #[schemars(with = "field::Priority")]
    priority: Option<Priority>,
    /// What sort of work it is
    #[serde(default, rename = "type")]
    #[schemars(with = "field::Kind")]
    kind: Option<BeadType>,
    /// The stored status
    #[serde(default)]
    #[schemars(with = "field::Status")]
    status: Option<Status>,
    /// Who should do it; null for nobody
    #[serde(default, deserialize_with = "or_null")]
    #[schemars(with = "OrNull<field::Actor>")]
    assignee: Option<Option<Actor>>,
    /// Take it out of another actor's claim, with a reason
    #[serde(default)]
    force: bool,
    /// Why the status or the assignee changes; kept as a note
    #[serde(default)]
    #[schemars(with = "field::Text")]
    reason: Text,
    /// All labels anew
    #[serde(default)]
    #[schemars(with = "Vec<field::Label>", length(max = 256))]
    set_labels: Option<Vec<Label>>,
    /// Labels to add
    #[serde(default)]
    #[schemars(with = "Vec<field::Label>", length(max = 256))]
    add_labels: Vec<Label>,
    /// Labels to take away
    #[serde(default)]
    #[schemars(with = "Vec<field::Label>", length(max = 256))]
    remove_labels: Vec<Label>,
    /// How it is to be done
    #[serde(default)]
    #[schemars(with = "field::Text")]
    design: Option<Text>,
    /// When it counts as done
    #[serde(default)]
    #[schemars(with = "field::Text")]
    acceptance_criteria: Option<Text>,
    /// Appends a note; earlier ones stay
    #[serde(default)]
    #[schemars(with = "field::Text")]
    notes: Option<Text>,
    /// A pointer into another tracker
    #[serde(default)]
    #[schemars(with = "field::Line")]
    external_ref: Option<Line>,
    /// The repository it came from
    #[serde(default)]
    #[schemars(with = "field::Line")]
    source_repo: Option<Line>,
    /// How long it should take; null for no estimate
    #[serde(default, deserialize_with = "or_null")]
    #[schemars(with = "OrNull<field::Estimate>")]
    estimated_minutes: Option<Option<Estimate>>,
    /// When it is due, RFC 3339 in UTC; null for never
    #[serde(default, deserialize_with = "time::given_or_null")]
    #[schemars(with = "OrNull<field::Time>")]
    due_at: Option<Option<Timestamp>>,
    /// Not ready before this time, RFC 3339 in UTC; null for at once
    #[serde(default, deserialize_with = "time::given_or_null")]
    #[schemars(with = "OrNull<field::Time>")]
    defer_until: Option<Option<Timestamp>>,
    /// All metadata anew
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    metadata: Option<Metadata>,
    /// Move it under this bead; null takes it out from under its parent
    #[serde(default, deserialize_with = "or_null")]
    #[schemars(with = "OrNull<field::BeadRef>")]
    parent: Option<Option<String>>,
}

fn or_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn change<T>(given: Option<Option<T>>) -> Option<Change<T>> {
    given.map(|value| value.map_or(Change::Clear, Change::Set))
}

impl Definition for Update {
    const NAME: &'static str = "beads.update";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","priority":0,"add_labels":["urgent"]}"#;
    type Output = output::Bead;
}

impl Mutation for Update {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Update(Box::new(op::Update {
            guard: self.guard.into(),
            title: self.title,
            description: self.description,
            priority: self.priority,
            kind: self.kind.map(Into::into),
            status: self.status.map(Into::into),
            assignee: change(self.assignee),
            claim: false,
            force: self.force,
            reason: self.reason,
            strict: true,
            set_labels: self.set_labels,
            add_labels: self.add_labels,
            remove_labels: self.remove_labels,
            design: self.design,
            acceptance_criteria: self.acceptance_criteria,
            notes: self.notes,
            external_ref: self.external_ref,
            source_repo: self.source_repo,
            estimated_minutes: change(self.estimated_minutes),
            due_at: change(self.due_at),
            defer_until: change(self.defer_until),
            metadata: self.metadata,
            parent: change(self.parent),
            ..op::Update::of(self.id)
        })))
    }
}
