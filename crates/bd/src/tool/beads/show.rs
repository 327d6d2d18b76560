use beads_core::schema::BeadRef;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::tool::{Action, Body, Context, Definition, Outcome, outcome};

/// Show a bead with its texts, notes, dependencies and dependents
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Show {
    /// Bead id, or a unique prefix of it
    #[schemars(with = "BeadRef")]
    id: String,
}

impl Definition for Show {
    const NAME: &'static str = "beads.show";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1"}"#;
    type Output = output::Bead;
}

impl Action for Show {
    const MUTATES: bool = false;

    /// Unwraps the one bead from the store's list.
    fn act(self, context: &Context<'_>) -> Result<Outcome, Failure> {
        let Outcome { body, metadata } = context.ask(Call::query(Query::Show { ids: vec![self.id] }))?;
        let one = match &body {
            Body::Result(list) => outcome::items(list)?.pop(),
            _ => None,
        };
        let one = one.ok_or_else(|| Failure::new(Code::InternalError, "no bead and no error"))?;
        Ok(Outcome { metadata, ..Outcome::of(one) })
    }
}
