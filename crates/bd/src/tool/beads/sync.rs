use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::output;
use crate::tool::{Action, Body, Context, Definition, Outcome, outcome};

/// Sync the store with its remote: fetch, merge, push and verify
///
/// Without --apply it shows what is waiting to be synced. Repeating it is harmless.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Sync {}

impl Definition for Sync {
    const NAME: &'static str = "beads.sync";
    const EXAMPLE: &'static str = "{}";
    type Output = output::Synced;
}

impl Action for Sync {
    const MUTATES: bool = true;

    fn act(self, context: &Context<'_>) -> Result<Outcome, Failure> {
        if context.apply {
            (context.progress)(0);
            let outcome = context.ask(Call::Sync)?;
            (context.progress)(100);
            return Ok(outcome.with("applied", true));
        }
        let Outcome { body, metadata } = context.ask(Call::query(Query::Status))?;
        let status: Value = match &body {
            Body::Result(status) => serde_json::from_str(status.get()).unwrap_or_default(),
            _ => Value::Null,
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let waiting = output::Waiting {
            remote: text(&status["sync"]["remote"]),
            commit: text(&status["commit"]),
            unsaved: status["unsaved"].as_u64().unwrap_or_default(),
            unsynced: status["sync"]["unsynced"].as_u64().unwrap_or_default(),
            last_error: status["sync"]["last_error"].clone(),
        };
        Ok(Outcome { metadata, ..Outcome::of(outcome::raw(&waiting)?) }.with("applied", false))
    }
}
