//! Resolves beads that a call names besides its target, in every spelling that a target may have.

use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use super::portal::Caller;
use super::target;

/// Fields that name one bead, and fields that name several.
const ONE: [&str; 3] = ["from", "to", "parent"];
const MANY: [&str; 1] = ["ids"];

/// Replaces all names of beads by their ids.
pub fn resolve(arguments: &mut Map<String, Value>, caller: Caller<'_>) -> Result<(), Failure> {
    let Caller { session, actor, .. } = caller;
    for field in ONE {
        // Null removes a parent. The tool refuses other types.
        if let Some(value) = arguments.get_mut(field).filter(|value| value.is_string() || value.is_object()) {
            *value = target::reference(session, actor, value)?.into();
        }
    }
    let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    for field in MANY {
        for value in arguments
            .get_mut(field)
            .filter(|list| texts(list))
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            *value = target::reference(session, actor, value)?.into();
        }
    }
    if let Some(Value::Array(deps)) = arguments.get_mut("deps") {
        for dep in deps {
            if let Some(named) = dep.as_str() {
                *dep = target::dep(session, actor, named)?.into();
            }
        }
    }
    match arguments.get_mut("next") {
        Some(Value::Object(next)) => resolve(next, caller),
        _ => Ok(()),
    }
}
