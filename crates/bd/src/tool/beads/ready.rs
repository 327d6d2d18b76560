use beads_core::query::ReadyFilter;
use beads_core::schema::BeadRef;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::Filter;
use super::output;
use crate::tool::{Definition, Question, field};

/// List beads that can be worked on now, by priority, then oldest first
///
/// These are open, unblocked beads, including those whose lease has expired.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Ready {
    #[serde(flatten)]
    filter: Filter,
    /// Only beads below this one, at any depth
    #[serde(default)]
    #[schemars(with = "Option<BeadRef>")]
    parent: Option<String>,
    /// Maximum number of beads; 0 for all
    #[serde(default)]
    #[schemars(with = "field::Limit")]
    limit: usize,
}

impl Definition for Ready {
    const NAME: &'static str = "beads.ready";
    const EXAMPLE: &'static str = r#"{"limit":5}"#;
    type Output = Vec<output::Bead>;
}

impl Question for Ready {
    fn call(self) -> Result<Call, Failure> {
        Ok(Call::query(Query::Ready(ReadyFilter {
            filter: self.filter.filter(self.limit),
            under: self.parent,
        })))
    }
}
