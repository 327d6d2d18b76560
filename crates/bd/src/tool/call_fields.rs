//! Fields about the call itself: repository, actor, idempotency, streaming.

use std::path::PathBuf;
use std::time::Duration;

use beads_core::Actor;
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::field;
use super::{Tool, read, schema};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallFields {
    /// A directory in the repository; default: the current directory
    #[schemars(with = "field::Directory")]
    pub repo: Option<PathBuf>,
    /// Actor; default: $BD_ACTOR, else user@host
    pub actor: Option<Actor>,
    /// Makes the call idempotent: a repeated call with the same key returns the first answer
    #[schemars(with = "field::Key")]
    pub idempotency_key: Option<String>,
    /// Answer in chunks, one JSON document per line, the last with `final`
    pub stream: bool,
}

/// Returns which of these fields a tool takes.
pub fn names(tool: &Tool) -> impl Iterator<Item = &'static str> {
    let names = [
        ("repo", true),
        ("actor", tool.mutates && tool.group() == "beads"),
        ("idempotency_key", tool.mutates),
        ("stream", tool.streams()),
    ];
    names.into_iter().filter_map(|(name, is_taken)| is_taken.then_some(name))
}

/// Adds these fields to the schema of a tool.
pub fn add_to_schema(mut own: Map<String, Value>, tool: &Tool) -> Value {
    let call = schema::input::<CallFields>();
    let properties = own.entry("properties").or_insert_with(|| Map::new().into());
    for name in names(tool) {
        properties[name] = call["properties"][name].clone();
    }
    Value::Object(own)
}

/// Options of a single claim. Claims in a batch neither wait nor are confirmed.
#[derive(Debug, Default)]
pub struct ClaimOptions {
    pub wait: Option<Duration>,
    pub confirm: bool,
}

/// Takes the claim options from the input of `beads.claim`.
pub fn take_claim_options(tool: &Tool, own: &mut Value) -> ClaimOptions {
    let Some(own) = own.as_object_mut().filter(|_| tool.name == "beads.claim") else {
        return ClaimOptions::default();
    };
    ClaimOptions {
        wait: own.remove("wait_ms").and_then(|wait| wait.as_u64()).map(Duration::from_millis),
        confirm: own.remove("confirm") == Some(Value::Bool(true)),
    }
}

/// Splits an input into the call fields and the tool's own fields.
pub fn split(input: &Value) -> Result<(CallFields, Value), Failure> {
    let (mut call, mut own) = (Map::new(), Map::new());
    for (key, value) in input.as_object().cloned().unwrap_or_default() {
        let is_of_call = matches!(key.as_str(), "repo" | "actor" | "idempotency_key" | "stream");
        if is_of_call { &mut call } else { &mut own }.insert(key, value);
    }
    Ok((read(Value::Object(call))?, Value::Object(own)))
}
