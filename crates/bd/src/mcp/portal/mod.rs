//! The six tools of every day. Each answers in lines (see [`super::lines`]): how things stand, then what to run next.

mod done;
mod mail;
mod make;
mod next;
mod note;
mod status;

use beads_core::Actor;
use beads_engine::failure::Failure;
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

/// What there is to read is cut to this unless the caller gives `max_chars`: about 200 tokens.
const DEFAULT_CHARS: usize = 640;

/// Longer titles are cut on the line of the state; a brief has the whole one below it.
const TITLE_CHARS: usize = 80;

/// Surroundings of one call.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub session: &'a Session,
    pub actor: &'a Actor,
    /// Tells the client that a long call goes on: so many of so many.
    pub progress: &'a dyn Fn(u64, u64),
    /// The tools that the client was shown; nothing else is suggested to it.
    pub toolset: Toolset,
    /// Whether nobody waits for the answer any more: the client gave up, or is gone.
    pub given_up: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("actor", self.actor).finish_non_exhaustive()
    }
}

/// A portal is its arguments, whose comments are its documentation, and what it does with them.
trait Open: JsonSchema + DeserializeOwned {
    /// What a call is checked against: what is listed, with every bound.
    fn strict() -> Map<String, Value> {
        tool::schema::input::<Self>()
    }

    fn open(self, caller: Caller<'_>) -> Result<Lines, Failure>;
}

/// One row of the table.
#[derive(Debug)]
pub struct Portal {
    pub name: &'static str,
    set: Toolset,
    read_only: bool,
    schema: fn() -> (String, Map<String, Value>),
    /// The same with every bound, to check a call against.
    strict: fn() -> Map<String, Value>,
    open: fn(Value, Caller<'_>) -> Result<Lines, Failure>,
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

/// The portals that a toolset shows.
pub fn listed(toolset: Toolset) -> impl Iterator<Item = &'static Portal> {
    TABLE.iter().filter(move |portal| portal.set <= toolset)
}

impl Portal {
    const fn new<T: Open>(name: &'static str, set: Toolset) -> Self {
        let open = |arguments, caller: Caller<'_>| read::<T>(arguments)?.open(caller);
        Self { name, set, read_only: false, schema: schema::of::<T>, strict: T::strict, open }
    }

    const fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// As `tools/list` shows it.
    pub fn listing(&self) -> Value {
        let (description, mut input) = (self.schema)();
        input["properties"]["max_chars"] = json!({"type": "integer"});
        input["properties"]["workspace"] = json!({"type": "string"});
        // None of them takes anything away; what a client assumes otherwise is that they do.
        let mut annotations = json!({"destructiveHint": false, "openWorldHint": false});
        if self.read_only {
            annotations = json!({"readOnlyHint": true, "openWorldHint": false});
        }
        json!({"name": self.name, "description": description, "inputSchema": input, "annotations": annotations})
    }

    /// The lines, and whether they tell of a failure.
    pub fn call(&self, arguments: Map<String, Value>, caller: Caller<'_>) -> (String, bool) {
        let (mut text, failed) = match self.run(arguments, caller) {
            Ok(text) => (text, false),
            Err(failure) => (code::error_line(&failure, caller.toolset), true),
        };
        if caller.session.must_restart() {
            text += &format!("\nWARNING: {RESTART} {RESTART_MESSAGE} | fix: {RESTART_FIX}");
        }
        (text, failed)
    }

    fn run(&self, mut arguments: Map<String, Value>, caller: Caller<'_>) -> Result<String, Failure> {
        // Clients send null for what they leave out.
        arguments.retain(|_, value| !value.is_null());
        let max_chars = match arguments.remove("max_chars") {
            None => None,
            Some(value) => Some(budget::count(&value).ok_or_else(|| not_a_number("max_chars", &value))?),
        };
        let mut input = Value::Object(arguments);
        check::check(&self.input_schema(), &mut input)?;
        if let Some(workspace) = input.as_object_mut().and_then(|fields| fields.remove("workspace")) {
            caller.session.workspace.expect(workspace.as_str().unwrap_or_default())?;
        }
        let lines = (self.open)(input, caller)?;
        Ok(match max_chars {
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
        })
    }

    /// What a call is checked against: what is listed, with every bound.
    pub fn input_schema(&self) -> Value {
        let mut schema = Value::Object((self.strict)());
        schema["properties"]["workspace"] = json!({"type": "string"});
        schema
    }
}

/// A budget that is not a number.
pub fn not_a_number(field: &str, received: &Value) -> Failure {
    Failure::invalid(format!("{field:?} must be a number (received {received})"))
        .with(json!({"field": field}))
}

/// The bead a call is about: the one it names, else the focus. It must be the one that is expected, if one is.
fn meant(caller: Caller<'_>, named: Option<&str>, expected: &Expected) -> Result<String, Failure> {
    let id = caller.session.target(caller.actor, named)?;
    expected.check(&id, caller)?;
    Ok(id)
}

/// A field of an answer, as text.
fn text<'a>(bead: &'a Value, field: &str) -> &'a str {
    bead[field].as_str().unwrap_or_default()
}

/// A bead on one line.
fn row(bead: &Value) -> String {
    format!("{} P{} {} {}", text(bead, "id"), bead["priority"], kind(bead), title(bead))
}

/// A title that fits on a line with others.
fn title(bead: &Value) -> String {
    // Secrets go first: half of one is one.
    let whole = redact::text(text(bead, "title").trim_end());
    match whole.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", whole[..end].trim_end()),
        None => whole,
    }
}

fn kind(bead: &Value) -> &str {
    bead["issue_type"].as_str().unwrap_or("task")
}

/// The hour, and the day unless it is today.
fn until(time: &str) -> String {
    let (day, hour) = (time.get(..10).unwrap_or(time), time.get(11..16).unwrap_or_default());
    let today = jiff::Timestamp::now().to_string();
    if today.starts_with(day) { format!("{hour}Z") } else { format!("{day} {hour}Z") }
}

/// The bead that a claim answered with: its state, how to finish it, its brief.
fn briefed(claimed: &Value) -> Lines {
    let state = format!("{} ACTIVE | yours until {}", row(claimed), until(text(claimed, "assignee_expires")));
    let finish = super::lines::command("done", &json!({"id": claimed["id"], "reason": "…"}));
    let mut lines = Lines::state(state).then(finish);
    if title(claimed).ends_with('…') {
        lines.read("title", text(claimed, "title"));
    }
    let brief = &claimed["brief"];
    if let Some(parent) = brief["parent"].as_str() {
        lines.read("part of", &format!("{parent} {}", text(brief, "parent_title")));
    }
    lines.read("", text(brief, "description"));
    lines.read("accept", text(brief, "acceptance_criteria"));
    for blocker in brief["blockers"].as_array().into_iter().flatten() {
        let (id, title, reason) =
            (text(blocker, "id"), text(blocker, "title"), text(blocker, "close_reason"));
        lines.read("after", format!("{id} {title}: {reason}").trim_end_matches([':', ' ']));
    }
    // The newest first: the budget cuts at the end.
    for note in brief["notes"].as_array().into_iter().flatten().rev() {
        lines.read(&format!("note by {}", text(note, "author")), text(note, "content"));
    }
    lines
}
