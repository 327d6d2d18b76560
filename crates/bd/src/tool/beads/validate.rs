use beads_engine::failure::Failure;
use beads_engine::request::Call;
use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::tool::{Action, Body, Context, Definition, Outcome, outcome};

/// Check the store line by line and list errors and warnings
///
/// `metadata.valid` is false if any finding is an error.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Validate {}

impl Definition for Validate {
    const NAME: &'static str = "beads.validate";
    const EXAMPLE: &'static str = "{}";
    type Output = Vec<output::Finding>;
}

impl Action for Validate {
    const MUTATES: bool = false;

    fn act(self, context: &Context<'_>) -> Result<Outcome, Failure> {
        #[derive(Deserialize)]
        struct Severity {
            severity: String,
        }
        let outcome = context.ask(Call::Validate)?;
        let Body::Result(findings) = &outcome.body else { return Ok(outcome) };
        let is_error = |finding: &serde_json::value::RawValue| {
            serde_json::from_str::<Severity>(finding.get()).is_ok_and(|finding| finding.severity == "error")
        };
        let valid = !outcome::items(findings)?.iter().any(|finding| is_error(finding));
        Ok(outcome.with("valid", valid))
    }
}
