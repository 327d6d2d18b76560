//! The fields that tools have in common.

use std::path::PathBuf;

use beads_core::Actor;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::field;
use super::{Tool, read, schema};
use crate::failure::Failure;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Common {
    /// A directory in the repository; where the tool was started when absent
    #[schemars(with = "field::Directory")]
    pub repo: Option<PathBuf>,
    /// Who acts; $BD_ACTOR, else user@host, when absent
    #[schemars(with = "field::Actor")]
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
        ("stream", tool.streams),
    ];
    names.into_iter().filter_map(|(name, is_taken)| is_taken.then_some(name))
}

pub fn with_common_fields(mut own: Map<String, Value>, tool: &Tool) -> Value {
    let common = schema::input::<Common>();
    let properties = own.entry("properties").or_insert_with(|| Map::new().into());
    for name in taken(tool) {
        properties[name] = common["properties"][name].clone();
    }
    Value::Object(own)
}

/// The common fields of an input, and the rest of it.
pub fn split(input: &Value) -> Result<(Common, Value), Failure> {
    let (mut common, mut own) = (Map::new(), Map::new());
    for (key, value) in input.as_object().cloned().unwrap_or_default() {
        let is_common = matches!(key.as_str(), "repo" | "actor" | "idempotency_key" | "stream");
        if is_common { &mut common } else { &mut own }.insert(key, value);
    }
    Ok((read(Value::Object(common))?, Value::Object(own)))
}
