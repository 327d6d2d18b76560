use beads_core::query;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::{Filter, Order};
use super::output;
use crate::tool::{Definition, Items, Question, field, outcome};

/// List beads, all of them unless filtered
#[derive(Debug, Deserialize, JsonSchema)]
pub struct List {
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

impl Definition for List {
    const NAME: &'static str = "beads.list";
    const EXAMPLE: &'static str = r#"{"status":["open"],"labels":["backend"],"limit":20}"#;
    type Output = Vec<output::Bead>;
}

impl Question for List {
    const STREAM: Option<Items> = Some(outcome::items);

    fn call(self) -> Result<Call, Failure> {
        let filter =
            query::Filter { parent: self.parent, sort: self.order.sort(), ..self.filter.filter(self.limit) };
        Ok(Call::query(Query::List(filter)))
    }
}
