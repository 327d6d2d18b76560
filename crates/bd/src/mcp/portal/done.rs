use beads_core::Op;
use beads_core::op::{ClaimNext, Close};
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Expected, Open, briefed, meant, row, text, title};
use crate::mcp::lines::{Lines, command};

/// Of what was unblocked, so many are named; the rest is counted.
const NAMED: usize = 3;

/// Close your bead, or the named one, and learn what that unblocked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// What was done
    reason: String,
    id: Option<String>,
    /// Claim the next in the same step
    #[serde(default)]
    next: bool,
    expected_target_id: Option<String>,
    #[serde(default)]
    strict_targeting: bool,
}

impl Open for Done {
    fn open(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let Caller { session, actor, .. } = caller;
        if self.reason.trim().is_empty() {
            return Err(Failure::invalid("the reason says what was done; it is empty"));
        }
        let expected = Expected::new(self.expected_target_id.map(Value::from), self.strict_targeting)?;
        let id = meant(caller, self.id.as_deref(), &expected)?;
        let close = Close { id, reason: self.reason.parse()?, ..Close::default() };
        if self.next {
            let next = Box::new(ClaimNext { filter: ReadyFilter::default(), lease_ms: None });
            let answer = session.ask(actor, Call::CloseAndClaim { close: vec![close], next })?;
            let closed = closed(&answer["closed"][0]);
            session.set_focus(answer["claimed"]["id"].as_str());
            if answer["claimed"].is_null() {
                return Ok(Lines::state(format!("{closed} | nothing ready")).then("status".to_owned()));
            }
            let mut lines = briefed(&answer["claimed"]);
            lines.lead(&closed);
            return Ok(lines);
        }
        let answer = session.ask(actor, Call::one(Op::Close(close)))?;
        session.set_focus(None);
        let first = Filter { limit: Some(1), ..Filter::default() };
        let ready = session.query(actor, Query::Ready(ReadyFilter { filter: first, under: None }))?;
        let closed = closed(&answer);
        Ok(match ready[0]["id"].as_str() {
            Some(id) => Lines::state(format!("{closed} | ready: {}", row(&ready[0])))
                .then(command("next", &json!({"id": id}))),
            None => Lines::state(format!("{closed} | nothing ready")).then("status".to_owned()),
        })
    }
}

/// What became of it.
fn closed(bead: &Value) -> String {
    let all = bead["unblocked"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named: Vec<String> =
        all.iter().take(NAMED).map(|bead| format!("{} {}", text(bead, "id"), title(bead))).collect();
    let mut state = format!("{} DONE", text(bead, "id"));
    if !named.is_empty() {
        state += &format!(" | unblocked {}", named.join(", "));
    }
    if all.len() > NAMED {
        state += &format!(" and {} more", all.len() - NAMED);
    }
    state
}
