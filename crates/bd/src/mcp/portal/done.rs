use beads_core::op::{Ask, Cancel, ClaimNext, Close, Fence, Guard, HandOver, Unclaim};
use beads_core::query::{Filter, ReadyFilter};
use beads_core::{Evidence, Op};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Expected, PortalCall, brief_lines, resolve_target, row, text, title};
use crate::mcp::lines::{Lines, command};

/// How many unblocked beads are named; the rest is only counted.
const NAMED: usize = 3;

/// Close your bead or the given one; see what it unblocks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// What was done
    #[serde(default)]
    reason: String,
    id: Option<String>,
    /// Instead: release, cancel, to:AGENT
    outcome: Option<String>,
    /// Question to a person
    ask: Option<String>,
    /// commit:SHA, url:URL, cmd:TEXT
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    evidence: Vec<Evidence>,
    /// Also claim the next bead
    #[serde(default)]
    next: bool,
    #[schemars(with = "Option<String>")]
    fence: Option<Fence>,
    /// Ignore blockers, children, others' claims
    #[serde(default)]
    force: bool,
    expected_target_id: Option<String>,
    #[serde(default)]
    strict_targeting: bool,
}

impl PortalCall for Done {
    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let Caller { session, actor, .. } = caller;
        if let Some(question) = &self.ask {
            return self.ask_person(caller, question);
        }
        if self.reason.trim().is_empty() {
            return Err(Failure::invalid("\"reason\" is missing; say what was done"));
        }
        if self.outcome.is_some() && self.next {
            return Err(Failure::usage("next and outcome exclude each other; call next afterwards"));
        }
        let expected =
            Expected::new(self.expected_target_id.clone().map(Value::from), self.strict_targeting)?;
        let id = resolve_target(caller, self.id.as_deref(), &expected)?;
        if let Some(outcome) = &self.outcome {
            return self.end_without_closing(caller, id, outcome);
        }
        let (reason, guard, force) = (self.reason.parse()?, self.guard(), self.force);
        let evidence = self.evidence.clone();
        let close = Close { id, guard, reason, strict: true, force, evidence };
        if self.next {
            let next = Box::<ClaimNext>::default();
            let answer = caller.mutate(Call::CloseAndClaim { close: vec![close], next })?;
            let closed = closed_state(&answer["closed"][0]);
            session.set_focus(actor, answer["claimed"]["id"].as_str());
            if answer["claimed"].is_null() {
                let lines = Lines::state(format!("{closed} | nothing ready")).then("status".to_owned());
                return Ok(lines.with_data(answer));
            }
            let mut lines = brief_lines(&answer["claimed"]);
            lines.prepend_state(&closed);
            return Ok(lines.with_data(answer));
        }
        let answer = caller.mutate(Call::one(Op::Close(close)))?;
        session.set_focus(actor, None);
        let first = Filter { limit: Some(1), ..Filter::default() };
        let ready = session.query(actor, Query::Ready(ReadyFilter { filter: first, under: None }))?;
        let closed = closed_state(&answer);
        let lines = match ready[0]["id"].as_str() {
            Some(id) => Lines::state(format!("{closed} | ready: {}", row(&ready[0])))
                .then(command("next", &json!({"id": id}))),
            None => Lines::state(format!("{closed} | nothing ready")).then("status".to_owned()),
        };
        Ok(lines.with_data(json!({"closed": [answer]})))
    }
}

impl Done {
    /// Asks a person and gives the claim back.
    fn ask_person(&self, caller: Caller<'_>, question: &str) -> Result<Lines, Failure> {
        if self.outcome.is_some() || self.next || !self.evidence.is_empty() {
            return Err(Failure::usage("ask excludes outcome, next and evidence"));
        }
        let expected =
            Expected::new(self.expected_target_id.clone().map(Value::from), self.strict_targeting)?;
        let id = resolve_target(caller, self.id.as_deref(), &expected)?;
        let (guard, text) = (self.guard(), question.parse()?);
        let ask = Ask { id, guard, text, options: Vec::new(), keep: false };
        let answer = caller.mutate(Call::one(Op::Ask(ask)))?;
        caller.session.set_focus(caller.actor, None);
        let state =
            format!("{} asked; it is offered to you when a person answers", self::text(&answer, "id"));
        Ok(Lines::state(state).then("next".to_owned()).with_data(json!({"asked": answer})))
    }

    fn guard(&self) -> Guard {
        Guard { fence: self.fence, ..Guard::default() }
    }

    /// Releases, cancels or hands over a bead that is not done.
    fn end_without_closing(&self, caller: Caller<'_>, id: String, outcome: &str) -> Result<Lines, Failure> {
        let (guard, reason, force) = (self.guard(), self.reason.parse()?, self.force);
        let (op, what) = match outcome.split_once(':') {
            None if outcome == "release" => (Op::Unclaim(Unclaim { id, guard, force, reason }), "released"),
            None if outcome == "cancel" => (Op::Cancel(Cancel { id, guard, reason }), "cancelled"),
            Some(("to", to)) => {
                let (to, text) = (to.trim().parse()?, reason);
                let offer = HandOver { id, guard, to, within_ms: None, text, force };
                (Op::HandOver(Box::new(offer)), "handed_over")
            }
            _ => return Err(Failure::invalid("outcome must be release, cancel or to:AGENT")),
        };
        let answer = caller.mutate(Call::one(op))?;
        caller.session.set_focus(caller.actor, None);
        let state = format!("{} {}", text(&answer, "id"), what.replace('_', " "));
        Ok(Lines::state(state).then("status".to_owned()).with_data(json!({what: answer})))
    }
}

/// Formats a closed bead and what it unblocked.
fn closed_state(bead: &Value) -> String {
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
