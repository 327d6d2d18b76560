//! `beads_watch` with a wait: in slices, so that the client hears of it and can give up.

use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use super::portal::Caller;
use crate::tool::{self, Context, Outcome};

pub const TOOL: &str = "beads.watch";

/// Nobody is left without a sign of life longer than this.
const SLICE_MS: u64 = 5_000;

/// Waits for the first event as long as the call asks.
pub fn run(
    mut arguments: Map<String, Value>,
    context: &Context<'_>,
    caller: Caller<'_>,
) -> Result<Outcome, Failure> {
    let asked = arguments.get("timeout_ms").and_then(Value::as_u64).unwrap_or_default();
    // Without a cursor there is nothing to wait behind; and what is out of bounds is refused by the tool, in one call.
    if !arguments.contains_key("since") || asked <= SLICE_MS {
        return tool::run(TOOL, Value::Object(arguments), context);
    }
    tool::find(TOOL).map_or(Ok(()), |tool| tool.check(&Value::Object(arguments.clone())))?;
    let mut waited = 0;
    loop {
        let slice = SLICE_MS.min(asked - waited);
        arguments.insert("timeout_ms".into(), slice.into());
        let outcome = tool::run(TOOL, Value::Object(arguments.clone()), context)?;
        waited += slice;
        if waited >= asked || (caller.given_up)() || told(&outcome) {
            return Ok(outcome);
        }
        (caller.progress)(waited / 1_000, asked / 1_000);
    }
}

fn told(outcome: &Outcome) -> bool {
    let tool::Body::Result(result) = &outcome.body else { return true };
    let answer: Value = serde_json::from_str(result.get()).unwrap_or_default();
    answer["events"].as_array().is_none_or(|events| !events.is_empty())
}
