use beads_engine::failure::Failure;
use beads_engine::render::QuestionAnswer;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Definition, Question};

/// List the questions that wait for an answer, oldest first
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Questions {}

impl Definition for Questions {
    const NAME: &'static str = "beads.questions";
    const EXAMPLE: &'static str = "{}";
    type Output = Vec<QuestionAnswer>;
}

impl Question for Questions {
    fn call(self) -> Result<Call, Failure> {
        Ok(Call::query(Query::Questions))
    }
}
