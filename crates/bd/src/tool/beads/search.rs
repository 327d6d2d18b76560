use beads_core::query;
use beads_core::schema::NonBlankText;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::Selection;
use super::output;
use crate::tool::{Definition, Items, Question, outcome};

/// Search beads by text in id, title, description or notes
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Search {
    /// Text to find (case-insensitive)
    #[schemars(with = "NonBlankText")]
    query: String,
    #[serde(flatten)]
    selection: Selection,
}

impl Definition for Search {
    const NAME: &'static str = "beads.search";
    const EXAMPLE: &'static str = r#"{"query":"login loop","status":["open"]}"#;
    type Output = Vec<output::Bead>;
}

impl Question for Search {
    const STREAM: Option<Items> = Some(outcome::items);

    fn call(self) -> Result<Call, Failure> {
        let filter = query::Filter { text: Some(self.query), ..self.selection.filter() };
        Ok(Call::query(Query::List(filter)))
    }
}
