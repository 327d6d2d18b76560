//! The fields that say something about the call itself: where, who, how often, in what form.

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
    /// A directory in the repository; where the tool was started when absent
    #[schemars(with = "field::Directory")]
    pub repo: Option<PathBuf>,
    /// Who acts; $BD_ACTOR, else user@host, when absent
    pub actor: Option<Actor>,
    /// Makes the call safe to repeat: with the same key it is applied once, and the first answer comes back
    #[schemars(with = "field::Key")]
    pub idempotency_key: Option<String>,
    /// Answer in chunks, one JSON document a line, the last one with `final`
    pub stream: bool,
}

/// Which of them a tool takes.
pub fn taken(tool: &Tool) -> impl Iterator<Item = &'static str> {
    let names = [
        ("repo", true),
        ("actor", tool.mutates && tool.group() == "beads"),
        ("idempotency_key", tool.mutates),
        ("stream", tool.streams()),
    ];
    names.into_iter().filter_map(|(name, is_taken)| is_taken.then_some(name))
}

/// The schema of a tool's own fields, with these beside them.
pub fn beside(mut own: Map<String, Value>, tool: &Tool) -> Value {
    let call = schema::input::<CallFields>();
    let properties = own.entry("properties").or_insert_with(|| Map::new().into());
    for name in taken(tool) {
        properties[name] = call["properties"][name].clone();
    }
    Value::Object(own)
}

/// How a single claim is answered; a batch of them neither waits nor is confirmed.
#[derive(Debug, Default)]
pub struct Alone {
    pub wait: Option<Duration>,
    pub confirm: bool,
}

/// Takes these fields out of the input of a claim.
pub fn alone(tool: &Tool, own: &mut Value) -> Alone {
    let Some(own) = own.as_object_mut().filter(|_| tool.name == "beads.claim") else {
        return Alone::default();
    };
    Alone {
        wait: own.remove("wait_ms").and_then(|wait| wait.as_u64()).map(Duration::from_millis),
        confirm: own.remove("confirm") == Some(Value::Bool(true)),
    }
}

/// These fields of an input, and the tool's own.
pub fn split(input: &Value) -> Result<(CallFields, Value), Failure> {
    let (mut call, mut own) = (Map::new(), Map::new());
    for (key, value) in input.as_object().cloned().unwrap_or_default() {
        let is_of_call = matches!(key.as_str(), "repo" | "actor" | "idempotency_key" | "stream");
        if is_of_call { &mut call } else { &mut own }.insert(key, value);
    }
    Ok((read(Value::Object(call))?, Value::Object(own)))
}
