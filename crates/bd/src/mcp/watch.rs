//! `beads_watch` with a wait, split into slices so that the client sees progress and can cancel.

use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use super::portal::Caller;
use crate::tool::{self, Context, Outcome};

pub const TOOL: &str = "beads.watch";

/// The longest time without a progress notification.
const SLICE_MS: u64 = 5_000;

/// Waits for the first event, up to the call's timeout.
pub fn run(
    mut arguments: Map<String, Value>,
    context: &Context<'_>,
    caller: Caller<'_>,
) -> Result<Outcome, Failure> {
    let timeout = arguments.get("timeout_ms").and_then(Value::as_u64).unwrap_or_default();
    // Without a cursor there is nothing to wait for. The tool itself refuses a timeout that is out of bounds.
    if !arguments.contains_key("since") || timeout <= SLICE_MS {
        return tool::run(TOOL, Value::Object(arguments), context);
    }
    tool::find(TOOL).map_or(Ok(()), |tool| tool.check(&Value::Object(arguments.clone())))?;
    let mut waited = 0;
    loop {
        let slice = SLICE_MS.min(timeout - waited);
        arguments.insert("timeout_ms".into(), slice.into());
        let outcome = tool::run(TOOL, Value::Object(arguments.clone()), context)?;
        waited += slice;
        if waited >= timeout || (caller.is_cancelled)() || has_events(&outcome) {
            return Ok(outcome);
        }
        (caller.progress)(waited / 1_000, timeout / 1_000);
    }
}

fn has_events(outcome: &Outcome) -> bool {
    let tool::Body::Result(result) = &outcome.body else { return true };
    let answer: Value = serde_json::from_str(result.get()).unwrap_or_default();
    answer["events"].as_array().is_none_or(|events| !events.is_empty())
}
