use beads_core::op;
use beads_core::{Actor, Op, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Hand a bead you hold over to another agent
///
/// That agent's next claim takes it before anything else. When it is not taken in time, the bead is ready for everyone.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Handover {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// Who should go on with it
    #[schemars(with = "field::Actor")]
    to: Actor,
    /// How long the offer stands, in milliseconds; ten minutes when absent
    #[serde(default)]
    #[schemars(with = "field::LeaseMs")]
    within_ms: Option<u64>,
    /// What the next worker should know; kept as a note
    #[serde(default)]
    #[schemars(with = "field::Text")]
    text: Text,
    /// Hand over what another actor holds; the text says why
    #[serde(default)]
    force: bool,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Handover {
    const NAME: &'static str = "beads.handover";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","to":"agent-2","text":"the tests are missing"}"#;
    type Output = output::Bead;
}

impl Mutation for Handover {
    fn op(self) -> Result<Op, Failure> {
        let Self { id, to, within_ms, text, force, guard } = self;
        Ok(Op::HandOver(Box::new(op::HandOver { id, guard: guard.into(), to, within_ms, text, force })))
    }
}
