use beads_core::op::{Cancel, ClaimNext, Close, Fence, Guard, HandOver, Unclaim};
use beads_core::query::{Filter, ReadyFilter};
use beads_core::{Evidence, Op};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Expected, Open, briefed, meant, row, text, title};
use crate::mcp::lines::{Lines, command};

/// Of what was unblocked, so many are named; the rest is counted.
const NAMED: usize = 3;

/// Close your bead or the named one and learn what that unblocks; or release, cancel, hand over.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// What was done
    reason: String,
    id: Option<String>,
    /// Instead: release, cancel, to:AGENT
    outcome: Option<String>,
    /// commit:SHA, url:URL, cmd:TEXT
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    evidence: Vec<Evidence>,
    /// Claim the next in the same step
    #[serde(default)]
    next: bool,
    #[schemars(with = "Option<String>")]
    fence: Option<Fence>,
    /// Despite open blockers, children, others' claims
    #[serde(default)]
    force: bool,
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
        if self.outcome.is_some() && self.next {
            return Err(Failure::usage("next goes with closing; call next afterwards"));
        }
        let expected =
            Expected::new(self.expected_target_id.clone().map(Value::from), self.strict_targeting)?;
        let id = meant(caller, self.id.as_deref(), &expected)?;
        if let Some(outcome) = &self.outcome {
            return self.instead(caller, id, outcome);
        }
        let (reason, guard, force) = (self.reason.parse()?, self.guard(), self.force);
        let evidence = self.evidence.clone();
        let close = Close { id, guard, reason, strict: true, force, evidence };
        if self.next {
            let next = Box::<ClaimNext>::default();
            let answer = caller.mutate(Call::CloseAndClaim { close: vec![close], next })?;
            let closed = closed(&answer["closed"][0]);
            session.set_focus(actor, answer["claimed"]["id"].as_str());
            if answer["claimed"].is_null() {
                let lines = Lines::state(format!("{closed} | nothing ready")).then("status".to_owned());
                return Ok(lines.with_data(answer));
            }
            let mut lines = briefed(&answer["claimed"]);
            lines.lead(&closed);
            return Ok(lines.with_data(answer));
        }
        let answer = caller.mutate(Call::one(Op::Close(close)))?;
        session.set_focus(actor, None);
        let first = Filter { limit: Some(1), ..Filter::default() };
        let ready = session.query(actor, Query::Ready(ReadyFilter { filter: first, under: None }))?;
        let closed = closed(&answer);
        let lines = match ready[0]["id"].as_str() {
            Some(id) => Lines::state(format!("{closed} | ready: {}", row(&ready[0])))
                .then(command("next", &json!({"id": id}))),
            None => Lines::state(format!("{closed} | nothing ready")).then("status".to_owned()),
        };
        Ok(lines.with_data(json!({"closed": [answer]})))
    }
}

impl Done {
    fn guard(&self) -> Guard {
        Guard { fence: self.fence, ..Guard::default() }
    }

    /// What becomes of a bead that is not done.
    fn instead(&self, caller: Caller<'_>, id: String, outcome: &str) -> Result<Lines, Failure> {
        let (guard, reason, force) = (self.guard(), self.reason.parse()?, self.force);
        let (op, what) = match outcome.split_once(':') {
            None if outcome == "release" => (Op::Unclaim(Unclaim { id, guard, force, reason }), "released"),
            None if outcome == "cancel" => (Op::Cancel(Cancel { id, guard, reason }), "cancelled"),
            Some(("to", to)) => {
                let (to, text) = (to.trim().parse()?, reason);
                let offer = HandOver { id, guard, to, within_ms: None, text, force };
                (Op::HandOver(Box::new(offer)), "handed_over")
            }
            _ => return Err(Failure::invalid("outcome is release, cancel or to:AGENT")),
        };
        let answer = caller.mutate(Call::one(op))?;
        caller.session.set_focus(caller.actor, None);
        let state = format!("{} {}", text(&answer, "id"), what.replace('_', " "));
        Ok(Lines::state(state).then("status".to_owned()).with_data(json!({what: answer})))
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
