use beads_core::query;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::{Filter, Order};
use super::output;
use crate::tool::{Definition, Items, Question, field, outcome};

/// Find beads by a text in id, title, description or notes
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Search {
    /// The text, in any case
    #[schemars(with = "field::Said")]
    query: String,
    #[serde(flatten)]
    filter: Filter,
    #[serde(flatten)]
    order: Order,
    /// Direct children of this bead
    #[serde(default)]
    #[schemars(with = "field::BeadRef")]
    parent: Option<String>,
    /// At most so many; 0 for all
    #[serde(default)]
    #[schemars(with = "field::Limit")]
    limit: usize,
}

impl Definition for Search {
    const NAME: &'static str = "beads.search";
    const EXAMPLE: &'static str = r#"{"query":"login loop","status":["open"]}"#;
    type Output = Vec<output::Bead>;
}

impl Question for Search {
    const STREAM: Option<Items> = Some(outcome::items);

    fn call(self) -> Result<Call, Failure> {
        let filter = query::Filter {
            parent: self.parent,
            text: Some(self.query),
            sort: self.order.sort(),
            ..self.filter.filter(self.limit)
        };
        Ok(Call::query(Query::List(filter)))
    }
}
