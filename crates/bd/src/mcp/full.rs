//! Full views: every JSON tool under its name with `_` for `.`, answering in the envelope. They add targets
//! in every spelling, revisions, strict targeting, a second spelling of statuses and priorities, budgets, and
//! redaction.

use beads_engine::failure::{Code, Failure};
use serde_json::{Map, Value, json};

use super::budget::{self, Limits};
use super::envelope;
use super::expected::Expected;
use super::page::Page;
use super::portal::{Caller, not_a_number};
use super::{decorate, enums, graph_name, patch, redact, references, revision, target, watch};
use crate::operations;
use crate::tool::check::UNKNOWN;
use crate::tool::{self, Tool};

/// A tool that exists only here.
pub const PATCH: &str = "beads_patch";

/// Returns the MCP name of a JSON tool.
fn mcp_name(tool: &Tool) -> String {
    tool.name.replace('.', "_")
}

fn find(name: &str) -> Option<&'static Tool> {
    tool::table().iter().find(|tool| mcp_name(tool) == name)
}

pub fn is_tool(name: &str) -> bool {
    name == PATCH || find(name).is_some()
}

/// Fields of the JSON tools that are not supported here: the server has one store, and answers are not split.
const UNSUPPORTED_FIELDS: [&str; 3] = ["repo", "stream", "batch"];

/// Returns the entries for `tools/list`.
pub fn listing() -> Vec<Value> {
    let mut all: Vec<Value> = tool::table().iter().map(listed).collect();
    all.push(json!({
        "name": PATCH,
        "description": "Change single fields of a bead: set, unset, append, remove",
        "inputSchema": patch::schema(),
        "annotations": {"destructiveHint": false, "openWorldHint": false},
    }));
    all
}

fn listed(tool: &Tool) -> Value {
    let mut schema = tool.input_schema().clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
        schema.remove("description");
        // `target` may replace `id`, so `id` is not required.
        if takes_target(tool) {
            let without_id = |list: &Value| {
                list.as_array().into_iter().flatten().filter(|name| **name != "id").cloned().collect()
            };
            let required: Vec<Value> = schema.get("required").map(without_id).unwrap_or_default();
            schema.insert("required".into(), required.into());
        }
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        UNSUPPORTED_FIELDS.iter().for_each(|name| drop(properties.remove(*name)));
        for (name, about) in common_fields(takes_target(tool), tool.mutates) {
            properties.insert(name.to_owned(), about);
        }
    }
    let mut annotations = json!({"readOnlyHint": !tool.mutates, "openWorldHint": tool.name == "beads.sync"});
    if tool.mutates {
        let row = operations::of_tool(tool.name);
        annotations["destructiveHint"] = json!(row.is_some_and(|row| row.destructive));
        annotations["idempotentHint"] = json!(row.is_some_and(|row| row.idempotent));
    }
    json!({"name": mcp_name(tool), "description": tool.summary(), "inputSchema": schema, "annotations": annotations})
}

/// Returns the fields that every full view takes.
pub fn common_fields(targets: bool, mutates: bool) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("workspace", json!({"type": "string"})),
        ("max_chars", json!({"type": "integer"})),
        ("max_bytes", json!({"type": "integer"})),
        ("max_lines", json!({"type": "integer"})),
        ("offset", json!({"type": "integer"})),
    ];
    if targets {
        fields.push(("target", json!({"description": "Instead of id: an id or {id, kind: plan|task}"})));
        fields
            .push(("path", json!({"type": "string", "description": "Child of the target, such as s:0.s:1"})));
        fields.push(("expected_target_id", json!({"type": "string"})));
        fields.push(("strict_targeting", json!({"type": "boolean"})));
    }
    if targets && mutates {
        fields
            .push(("expected_revision", json!({"type": "integer", "description": "Also expected_version"})));
    }
    fields
}

fn takes_target(tool: &Tool) -> bool {
    tool.group() == "beads"
        && tool.name != "beads.conflicts"
        && tool.input_schema()["properties"].get("id").is_some()
        && tool.name != "beads.create"
}

/// Calls a tool. Returns the envelope as text, and whether the call failed.
pub fn call(name: &str, mut arguments: Map<String, Value>, caller: Caller<'_>) -> (String, bool) {
    let given = arguments.clone();
    let limits = match limits(&mut arguments) {
        Ok(limits) => limits,
        Err(failure) => return (envelope::failed(name, &failure, caller.session, Vec::new()), true),
    };
    match run(name, arguments.clone(), limits.max_chars, caller) {
        Ok((mut result, page)) => {
            redact::value(&mut result);
            let result = match result {
                Value::Object(map) => map,
                other => Map::from_iter([("value".to_owned(), other)]),
            };
            let mut fitted = budget::fit(result, limits);
            let next = page
                .and_then(|page| page.after(&mut fitted))
                .map(|offset| envelope::next_page(name, given, offset));
            (envelope::succeeded(name, &fitted, caller.session, next.into_iter().collect()), false)
        }
        Err(failure) => {
            let suggestions = envelope::recovery_suggestions(&failure, &arguments, caller);
            (envelope::failed(name, &failure, caller.session, suggestions), true)
        }
    }
}

fn run(
    name: &str,
    mut arguments: Map<String, Value>,
    max_chars: Option<usize>,
    caller: Caller<'_>,
) -> Result<(Value, Option<Page>), Failure> {
    if let Some(workspace) = arguments.remove("workspace") {
        let workspace = workspace.as_str().ok_or_else(|| wrong_type("workspace", "a string", &workspace))?;
        caller.session.workspace.expect(workspace)?;
    }
    if let Some(other) = UNSUPPORTED_FIELDS.iter().find(|name| arguments.contains_key(**name)) {
        return Err(Failure::invalid(format!("unsupported field {other:?}; leave it out"))
            .with(json!({"field": other, UNKNOWN: true})));
    }
    let offset = count(&mut arguments, "offset")?.unwrap_or_default();
    if name == PATCH {
        let id = take_target(&mut arguments, caller)?.ok_or_else(|| {
            Failure::new(Code::MissingField, "the field \"target\" is missing")
                .with(json!({"field": "target"}))
        })?;
        let guard = revision::guard(&mut arguments, &id, caller)?;
        let expects = guard.is_some();
        let patched = patch::apply(arguments, &id, guard, caller)
            .map_err(|failure| as_revision_mismatch(failure, expects))?;
        let result = decorate::result(patched, caller, 0, None);
        return Ok((result, None));
    }
    let tool = find(name).ok_or_else(|| Failure::usage(format!("unknown tool {name}")))?;
    let mut expects = false;
    if takes_target(tool)
        && let Some(id) = take_target(&mut arguments, caller)?
    {
        if let Some(hash) = revision::guard(&mut arguments, &id, caller)? {
            arguments.insert("expected_content_hash".into(), hash.into());
            expects = true;
        }
        arguments.insert("id".into(), id.into());
    }
    let page = Page::from_arguments(tool, &mut arguments, offset, max_chars);
    if tool.group() == "beads" {
        references::resolve(&mut arguments, caller)?;
        graph_name::canonical(&mut arguments)?;
    }
    normalize_enums(&mut arguments)?;
    let progress = |percent: u8| (caller.progress)(u64::from(percent), 100);
    // Only a waiting call can be cancelled; any other call is too short.
    let waits = arguments.get("wait_ms").and_then(Value::as_u64).is_some_and(|wait| wait > 0);
    let cancel = waits.then(|| caller.cancel.clone());
    let context = caller.session.tool_context(caller.actor, &progress, cancel);
    let outcome = match tool.name {
        watch::TOOL => watch::run(arguments, &context, caller)?,
        name => tool::run(name, Value::Object(arguments), &context)
            .map_err(|failure| as_revision_mismatch(failure, expects))?,
    };
    let over = outcome.metadata.get("claim_over").cloned();
    let raw = outcome.into_result().map_err(|failure| as_revision_mismatch(failure, expects))?;
    let value: Value = serde_json::from_str(raw.get())
        .map_err(|error| Failure::new(Code::InternalError, error.to_string()))?;
    let is_list = value.is_array();
    caller.claims.record(caller.actor, &value);
    let mut result = decorate::result(value, caller, offset, page.limit);
    if let (Some(over), Some(result)) = (over, result.as_object_mut()) {
        result.insert("claim_over".into(), over);
    }
    Ok((result, is_list.then_some(page)))
}

/// Converts a conflict into a revision mismatch if the caller expected a revision. Another write came between
/// the check of the revision and our write.
fn as_revision_mismatch(failure: Failure, expects_revision: bool) -> Failure {
    match failure.code {
        Code::Conflict if expects_revision => Failure { code: Code::RevisionMismatch, ..failure },
        _ => failure,
    }
}

/// Takes the target out of the arguments and returns the id of the bead.
fn take_target(arguments: &mut Map<String, Value>, caller: Caller<'_>) -> Result<Option<String>, Failure> {
    let strict = match arguments.remove("strict_targeting") {
        None | Some(Value::Null) => false,
        Some(strict) => {
            strict.as_bool().ok_or_else(|| wrong_type("strict_targeting", "true or false", &strict))?
        }
    };
    let mut given = |name: &str| arguments.remove(name).filter(|value| !value.is_null());
    let expected = Expected::new(given("expected_target_id"), strict)?;
    let path = given("path");
    let named = match (arguments.remove("target"), arguments.remove("id")) {
        (Some(_), Some(_)) => return Err(Failure::usage("give target or id, not both")),
        (target, id) => target.or(id),
    };
    let Some(named) = named else { return Ok(None) };
    let mut id = target::reference(caller.session, caller.actor, &named)?;
    if let Some(path) = path {
        let path = path.as_str().ok_or_else(|| wrong_type("path", "a string such as s:0.s:1", &path))?;
        id = target::step(caller.session, caller.actor, &id, path)?;
    }
    expected.check(&id, caller)?;
    Ok(Some(id))
}

/// Converts the second spelling of statuses and priorities to the first.
fn normalize_enums(arguments: &mut Map<String, Value>) -> Result<(), Failure> {
    let statuses = match arguments.get_mut("status") {
        Some(Value::Array(all)) => all.as_mut_slice(),
        Some(one) => std::slice::from_mut(one),
        None => &mut [],
    };
    for status in statuses {
        if let Some(word @ ("TODO" | "ACTIVE" | "DONE")) = status.as_str() {
            *status = enums::status(word)?.to_string().into();
        }
    }
    for field in ["priority", "priority_min", "priority_max"] {
        if let Some(value) = arguments.get_mut(field).filter(|value| value.is_string()) {
            *value = json!(enums::priority(value)?);
        }
    }
    // The filter of a claim.
    match arguments.get_mut("next") {
        Some(Value::Object(next)) => normalize_enums(next),
        _ => Ok(()),
    }
}

/// Returns the error for a field of the wrong type.
fn wrong_type(field: &str, expected: &str, received: &Value) -> Failure {
    Failure::invalid(format!("{field:?} must be {expected} (received {received})"))
        .with(json!({"field": field}))
}

fn limits(arguments: &mut Map<String, Value>) -> Result<Limits, Failure> {
    Ok(Limits {
        max_chars: count(arguments, "max_chars")?,
        max_bytes: count(arguments, "max_bytes")?,
        max_lines: count(arguments, "max_lines")?,
    })
}

fn count(arguments: &mut Map<String, Value>, name: &str) -> Result<Option<usize>, Failure> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => budget::count(&value).map(Some).ok_or_else(|| not_a_number(name, &value)),
    }
}
