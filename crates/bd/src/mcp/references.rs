//! Beads that a call names besides its target: in every spelling that a target has.

use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use super::portal::Caller;
use super::target;

/// Fields that name one bead, and fields that name many.
const ONE: [&str; 3] = ["from", "to", "parent"];
const MANY: [&str; 1] = ["ids"];

/// Puts the store's own ids where others were given.
pub fn resolve(arguments: &mut Map<String, Value>, caller: Caller<'_>) -> Result<(), Failure> {
    let Caller { session, actor, .. } = caller;
    for field in ONE {
        // Null takes a parent away; what is of another type is refused by the tool.
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
