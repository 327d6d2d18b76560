use beads_core::op::{self, Dep};
use beads_core::{
    Actor, BeadId, BeadType, EdgeKind, Estimate, Label, Line, Metadata, Op, Priority, Text, Timestamp, Title,
};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{output, time};
use crate::tool::{Definition, Mutation, field};

/// Make a new bead, with its parent and dependencies, in one step
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Create {
    /// What is to be done, on one line
    #[schemars(with = "field::Title")]
    title: Title,
    /// An id of your own that was never used here; a new one is minted when absent
    #[serde(default)]
    #[schemars(with = "field::NewId")]
    id: Option<BeadId>,
    /// What sort of work it is
    #[serde(default, rename = "type")]
    #[schemars(with = "field::Kind")]
    kind: BeadType,
    /// 0 (urgent) to 4 (some day)
    #[serde(default)]
    #[schemars(with = "field::Priority")]
    priority: Priority,
    /// The whole story
    #[serde(default)]
    #[schemars(with = "field::Text")]
    description: Text,
    /// How it is to be done
    #[serde(default)]
    #[schemars(with = "field::Text")]
    design: Text,
    /// When it counts as done
    #[serde(default)]
    #[schemars(with = "field::Text")]
    acceptance_criteria: Text,
    /// A first note
    #[serde(default)]
    #[schemars(with = "field::Text")]
    notes: Text,
    /// Who should do it
    #[serde(default)]
    #[schemars(with = "field::Actor")]
    assignee: Option<Actor>,
    /// Labels
    #[serde(default)]
    #[schemars(with = "Vec<field::Label>", length(max = 256))]
    labels: Vec<Label>,
    /// The bead this one is a part of
    #[serde(default)]
    #[schemars(with = "field::BeadRef")]
    parent: Option<String>,
    /// What it waits for: an id, or kind:id with blocks, parent, related or discovered_from
    #[serde(default)]
    #[schemars(with = "Vec<field::BeadRef>", length(max = 1000))]
    deps: Vec<String>,
    /// A pointer into another tracker
    #[serde(default)]
    #[schemars(with = "field::Line")]
    external_ref: Line,
    /// The repository it came from
    #[serde(default)]
    #[schemars(with = "field::Line")]
    source_repo: Line,
    /// How long it should take
    #[serde(default)]
    #[schemars(with = "field::Estimate")]
    estimated_minutes: Option<Estimate>,
    /// When it is due, RFC 3339 in UTC
    #[serde(default, deserialize_with = "time::given")]
    #[schemars(with = "field::Time")]
    due_at: Option<Timestamp>,
    /// Not ready before this time, RFC 3339 in UTC
    #[serde(default, deserialize_with = "time::given")]
    #[schemars(with = "field::Time")]
    defer_until: Option<Timestamp>,
    /// Whatever other programs want to keep with the bead
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    metadata: Metadata,
}

impl Definition for Create {
    const NAME: &'static str = "beads.create";
    const EXAMPLE: &'static str = r#"{"title":"Fix the login loop","type":"bug","priority":1}"#;
    type Output = output::CreatedBead;
}

impl Mutation for Create {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Create(Box::new(op::Create {
            title: self.title,
            id: self.id,
            kind: self.kind.into(),
            priority: self.priority,
            description: self.description,
            design: self.design,
            acceptance_criteria: self.acceptance_criteria,
            notes: self.notes,
            assignee: self.assignee,
            labels: self.labels,
            parent: self.parent,
            deps: self.deps.into_iter().map(dep).collect(),
            external_ref: self.external_ref,
            source_repo: self.source_repo,
            estimated_minutes: self.estimated_minutes,
            due_at: self.due_at,
            defer_until: self.defer_until,
            metadata: self.metadata,
        })))
    }
}

/// A text that names no kind is an id, and if it is none, no bead will be found for it.
fn dep(text: String) -> Dep {
    text.parse().unwrap_or(Dep { kind: EdgeKind::Blocks, id: text })
}
