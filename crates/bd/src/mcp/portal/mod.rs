//! The six daily tools. Each answers in lines (see [`super::lines`]): the state, then the next command.

mod done;
mod mail;
mod make;
mod next;
mod note;
mod status;

use std::sync::{Arc, Mutex, PoisonError};

use beads_core::{Actor, Timestamp};
use beads_engine::cancel::CancelToken;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::Call;
use beads_store::{RealWorld, World};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::envelope::{RESTART, RESTART_FIX, RESTART_MESSAGE};
use super::expected::Expected;
use super::lines::Lines;
use super::session::Session;
use super::toolset::Toolset;
use super::{artifact, budget, code, redact, schema};
use crate::tool::{self, check, read};

/// Text is cut to this unless the caller gives `max_chars`: about 200 tokens.
const DEFAULT_CHARS: usize = 640;

/// Longer titles are cut on the state line; a brief has the whole title below it.
const TITLE_CHARS: usize = 80;

/// How many held beads are named; the rest is only counted.
const LISTED: usize = 5;

/// The context of one call.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub session: &'a Session,
    pub actor: &'a Actor,
    /// Reports the progress of a long call: done and total.
    pub progress: &'a dyn Fn(u64, u64),
    /// The toolset that the client knows; only its tools are suggested.
    pub toolset: Toolset,
    /// Returns whether the call was cancelled or the client is gone.
    pub is_cancelled: &'a dyn Fn() -> bool,
    /// Cancels the wait of the call.
    pub cancel: &'a Arc<CancelToken>,
    /// Makes the call idempotent.
    pub request_id: Option<&'a str>,
    /// Claims that the call made.
    pub claims: &'a Claims,
}

/// Claims that a call made, to be released if its answer cannot be delivered.
#[derive(Debug, Default)]
pub struct Claims(Mutex<Vec<(Actor, String, String)>>);

impl Claims {
    /// Records the claim in an answer, if there is one.
    pub fn record(&self, actor: &Actor, answer: &Value) {
        for claimed in [answer, &answer["claimed"]] {
            if let (Some(id), Some(fence), Some(false)) =
                (claimed["id"].as_str(), claimed["fence"].as_str(), claimed["renewed"].as_bool())
            {
                let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                all.push((actor.clone(), id.to_owned(), fence.to_owned()));
            }
        }
    }

    pub fn take(&self) -> Vec<(Actor, String, String)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Caller<'_> {
    /// Applies a mutation, only once if the call is retried with its request id.
    fn mutate(&self, call: Call) -> Result<Value, Failure> {
        let request_id = self.request_id.map(str::to_owned);
        let cancel = matches!(call, Call::Wait { .. }).then(|| self.cancel.clone());
        let answer = self.session.ask_once(self.actor, call, request_id, cancel)?;
        self.claims.record(self.actor, &answer);
        Ok(answer)
    }
}

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("actor", self.actor).finish_non_exhaustive()
    }
}

/// A portal: its arguments, whose doc comments are its documentation, and what it does with them.
trait PortalCall: JsonSchema + DeserializeOwned {
    /// Returns the schema that a call is checked against: the listed one plus all bounds.
    fn strict() -> Map<String, Value> {
        tool::schema::input::<Self>()
    }

    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure>;
}

/// One row of the table.
#[derive(Debug)]
pub struct Portal {
    pub name: &'static str,
    set: Toolset,
    read_only: bool,
    schema: fn() -> (String, Map<String, Value>),
    /// The same schema with all bounds, which calls are checked against.
    strict: fn() -> Map<String, Value>,
    execute: fn(Value, Caller<'_>) -> Result<Lines, Failure>,
}

static TABLE: &[Portal] = &[
    Portal::new::<status::Status>("status", Toolset::Core).read_only(),
    Portal::new::<next::Next>("next", Toolset::Core),
    Portal::new::<done::Done>("done", Toolset::Core),
    Portal::new::<note::Note>("note", Toolset::Daily),
    Portal::new::<make::Make>("make", Toolset::Daily),
    Portal::new::<mail::Mail>("mail", Toolset::Daily),
];

pub fn find(name: &str) -> Option<&'static Portal> {
    TABLE.iter().find(|portal| portal.name == name)
}

/// Returns every portal and whether it changes anything.
#[cfg(test)]
pub fn effects() -> impl Iterator<Item = (&'static str, bool)> {
    TABLE.iter().map(|portal| (portal.name, !portal.read_only))
}

/// Returns the portals that a toolset lists.
pub fn listed(toolset: Toolset) -> impl Iterator<Item = &'static Portal> {
    TABLE.iter().filter(move |portal| portal.set <= toolset)
}

impl Portal {
    const fn new<T: PortalCall>(name: &'static str, set: Toolset) -> Self {
        let execute = |arguments, caller: Caller<'_>| read::<T>(arguments)?.execute(caller);
        Self { name, set, read_only: false, schema: schema::of::<T>, strict: T::strict, execute }
    }

    const fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Returns the entry for `tools/list`.
    pub fn listing(&self) -> Value {
        let (description, mut input) = (self.schema)();
        input["properties"]["max_chars"] = json!({"type": "integer"});
        input["properties"]["workspace"] = json!({"type": "string"});
        input["properties"]["agent"] = json!({"type": "string"});
        if !self.read_only {
            input["properties"]["request_id"] = json!({"type": "string"});
        }
        // No portal is destructive, but clients assume so by default.
        let mut annotations = json!({"destructiveHint": false, "openWorldHint": false});
        if self.read_only {
            annotations = json!({"readOnlyHint": true, "openWorldHint": false});
        }
        json!({"name": self.name, "description": description, "inputSchema": input, "annotations": annotations})
    }

    /// Runs the portal.
    pub fn call(&self, arguments: Map<String, Value>, caller: Caller<'_>) -> ToolAnswer {
        let mut answer = match self.run(arguments, caller) {
            Ok((text, data)) => ToolAnswer { text, failed: false, data },
            Err(failure) => {
                let mut data = json!({
                    "error": code::code(&failure), "message": failure.message, "details": failure.details
                });
                redact::value(&mut data);
                ToolAnswer { text: code::error_line(&failure, caller.toolset), failed: true, data }
            }
        };
        if caller.session.must_restart() {
            answer.text += &format!("\nWARNING: {RESTART} {RESTART_MESSAGE} | fix: {RESTART_FIX}");
        }
        answer
    }

    fn run(&self, mut arguments: Map<String, Value>, caller: Caller<'_>) -> Result<(String, Value), Failure> {
        // Some clients send null for omitted arguments.
        arguments.retain(|_, value| !value.is_null());
        let actor = match take_text(&mut arguments, "agent")? {
            Some(agent) => caller.session.subagent(caller.actor, &agent)?,
            None => caller.actor.clone(),
        };
        let request_id = take_text(&mut arguments, "request_id")?;
        let caller = Caller { actor: &actor, request_id: request_id.as_deref(), ..caller };
        let max_chars = match arguments.remove("max_chars") {
            None => None,
            Some(value) => Some(budget::count(&value).ok_or_else(|| not_a_number("max_chars", &value))?),
        };
        let mut input = Value::Object(arguments);
        check::check(&self.input_schema(), &mut input)?;
        if let Some(workspace) = input.as_object_mut().and_then(|fields| fields.remove("workspace")) {
            caller.session.workspace.expect(workspace.as_str().unwrap_or_default())?;
        }
        let mut lines = (self.execute)(input, caller)?;
        let over = caller.session.take_ended_claims(&actor);
        for over in &over {
            lines.warn("CLAIM_OVER", &over.to_string(), "next");
        }
        let mut data = lines.data();
        if let (false, Some(data)) = (over.is_empty(), data.as_object_mut()) {
            data.insert("claim_over".into(), json!(over));
        }
        let text = match max_chars {
            None => lines.render(DEFAULT_CHARS, None),
            Some(given) => {
                let max_chars = given.max(budget::MIN_CHARS);
                let mut text = lines.render(max_chars, Some(max_chars));
                if given < max_chars {
                    text += &format!(
                        "\nWARNING: BUDGET_MIN_CLAMPED {given} raised to {max_chars} | fix: max_chars {max_chars}"
                    );
                }
                text
            }
        };
        Ok((text, data))
    }

    /// Returns the schema that a call is checked against: the listed one plus all bounds.
    pub fn input_schema(&self) -> Value {
        let mut schema = Value::Object((self.strict)());
        schema["properties"]["workspace"] = json!({"type": "string"});
        schema
    }
}

/// The answer of a tool.
#[derive(Debug)]
pub struct ToolAnswer {
    pub text: String,
    pub failed: bool,
    /// The same answer for clients that read JSON; null if there is only text.
    pub data: Value,
}

/// Takes an optional text from the arguments.
fn take_text(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Failure> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(_) => Err(Failure::invalid(format!("{name} must be a non-empty string"))),
    }
}

/// Returns the error for a budget that is not a number.
pub fn not_a_number(field: &str, received: &Value) -> Failure {
    Failure::invalid(format!("{field:?} must be a number (received {received})"))
        .with(json!({"field": field}))
}

/// Returns the bead that a call is about: the one it names, else the only one that the caller holds. It must
/// be the expected one, if one is given.
fn resolve_target(caller: Caller<'_>, named: Option<&str>, expected: &Expected) -> Result<String, Failure> {
    if named.is_none() {
        let held = caller.session.mine(caller.actor)?;
        if held.len() > 1 {
            let message = format!("you hold {} beads, and none was named: {}", held.len(), listed_ids(&held));
            return Err(Failure::new(Code::SeveralHeld, message).with(json!({"held": ids(&held)})));
        }
    }
    let id = caller.session.target(caller.actor, named)?;
    expected.check(&id, caller)?;
    Ok(id)
}

fn ids(beads: &[Value]) -> Vec<&Value> {
    beads.iter().map(|bead| &bead["id"]).collect()
}

/// Lists beads on one line, each with its title.
fn listed_ids(beads: &[Value]) -> String {
    let each = beads.iter().take(LISTED).map(|bead| format!("{} {}", text(bead, "id"), title(bead)));
    let mut list = each.collect::<Vec<_>>().join(", ");
    if beads.len() > LISTED {
        list += &format!(" and {} more", beads.len() - LISTED);
    }
    list
}

/// Returns a text field of an answer.
fn text<'a>(bead: &'a Value, field: &str) -> &'a str {
    bead[field].as_str().unwrap_or_default()
}

/// Formats a bead on one line.
fn row(bead: &Value) -> String {
    format!("{} P{} {} {}", text(bead, "id"), bead["priority"], kind(bead), title(bead))
}

/// Returns the title, cut to fit on a line.
fn title(bead: &Value) -> String {
    // Redact before cutting, because half a secret is still a secret.
    let whole = redact::text(text(bead, "title").trim_end());
    match whole.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", whole[..end].trim_end()),
        None => whole,
    }
}

fn kind(bead: &Value) -> &str {
    bead["issue_type"].as_str().unwrap_or("task")
}

/// Formats the time, with the date unless it is today.
fn format_expiry(time: &str) -> String {
    let (day, hour) = (time.get(..10).unwrap_or(time), time.get(11..16).unwrap_or_default());
    let today = Timestamp::text_of(RealWorld.now_ms());
    if today.starts_with(day) { format!("{hour}Z") } else { format!("{day} {hour}Z") }
}

/// Returns the call that closes a bead, or `status` while the bead cannot be closed.
fn finish_command(bead: &Value) -> String {
    let has_open = |links: &str, kind: &str| {
        let links = bead[links].as_array().into_iter().flatten();
        links.into_iter().any(|link| link["kind"] == kind && link["status"] != "closed")
    };
    let is_epic = kind(bead) == "epic";
    if has_open("dependencies", "blocks") || (is_epic && has_open("dependents", "parent")) {
        return "status".to_owned();
    }
    super::lines::command("done", &json!({"id": bead["id"], "reason": "…"}))
}

/// Formats a claimed bead: its state, how to finish it, its brief.
fn brief_lines(claimed: &Value) -> Lines {
    let state =
        format!("{} ACTIVE | yours until {}", row(claimed), format_expiry(text(claimed, "assignee_expires")));
    let finish = finish_command(claimed);
    let mut lines = Lines::state(state).then(finish).with_data(claimed.clone());
    if title(claimed).ends_with('…') {
        lines.add_text("title", text(claimed, "title"));
    }
    let brief = &claimed["brief"];
    if let Some(parent) = brief["parent"].as_str() {
        lines.add_text("part of", &format!("{parent} {}", text(brief, "parent_title")));
    }
    lines.add_text("", text(brief, "description"));
    lines.add_text("accept", text(brief, "acceptance_criteria"));
    for blocker in brief["blockers"].as_array().into_iter().flatten() {
        let (id, title, reason) =
            (text(blocker, "id"), text(blocker, "title"), text(blocker, "close_reason"));
        lines.add_text("after", format!("{id} {title}: {reason}").trim_end_matches([':', ' ']));
    }
    // Newest first, because the budget cuts the end.
    for note in brief["notes"].as_array().into_iter().flatten().rev() {
        lines.add_text(&format!("note by {}", text(note, "author")), text(note, "content"));
    }
    lines
}
