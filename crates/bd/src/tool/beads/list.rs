use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::Selection;
use super::output;
use crate::tool::{Definition, Items, Question, outcome};

/// List all beads, or those that match filters
#[derive(Debug, Deserialize, JsonSchema)]
pub struct List {
    #[serde(flatten)]
    selection: Selection,
}

impl Definition for List {
    const NAME: &'static str = "beads.list";
    const EXAMPLE: &'static str = r#"{"status":["open"],"labels":["backend"],"limit":20}"#;
    type Output = Vec<output::Bead>;
}

impl Question for List {
    const STREAM: Option<Items> = Some(outcome::items);

    fn call(self) -> Result<Call, Failure> {
        Ok(Call::query(Query::List(self.selection.filter())))
    }
}
