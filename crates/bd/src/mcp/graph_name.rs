//! Limits of the contract on names in the graph of beads: nodes, their types, and the relations between them.
//! Names are checked before any lookup, so that an invalid name is reported differently from an unknown one.

use beads_engine::failure::Failure;
use serde_json::{Map, Value};

const MAX_NODE: usize = 256;
const MAX_TYPE: usize = 128;
const MAX_RELATION: usize = 128;

/// The separator between the parts of an edge in text.
const DIVIDER: char = '|';

/// Checks the id of a node and removes surrounding spaces.
pub fn node(id: &str) -> Result<&str, Failure> {
    bounded(id, "a node id", MAX_NODE, true)
}

fn bounded<'a>(text: &'a str, what: &str, most: usize, divided: bool) -> Result<&'a str, Failure> {
    let text = text.trim_matches(' ');
    let fits = !text.is_empty() && text.chars().count() <= most;
    if fits && !text.chars().any(char::is_control) && !(divided && text.contains(DIVIDER)) {
        return Ok(text);
    }
    let divider = if divided { format!("no {DIVIDER} and ") } else { String::new() };
    Err(Failure::invalid(format!("{what} must have 1 to {most} characters, {divider}no control characters")))
}

/// Converts the type of a bead and the relation of an edge in the arguments of a call to canonical form.
pub fn canonical(arguments: &mut Map<String, Value>) -> Result<(), Failure> {
    for (field, what, most, divided) in
        [("type", "a type", MAX_TYPE, false), ("kind", "a relation", MAX_RELATION, true)]
    {
        if let Some(Value::String(text)) = arguments.get_mut(field) {
            *text = bounded(text, what, most, divided)?.to_ascii_lowercase();
        }
    }
    if let Some(Value::String(kind)) = arguments.get_mut("kind") {
        // Accept every spelling of the other interfaces. The tool refuses an unknown one and lists the valid
        // ones.
        if let Ok(known) = kind.parse::<beads_core::EdgeKind>() {
            known.as_str().clone_into(kind);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use beads_engine::failure::Code;

    #[test]
    fn nodes_types_and_relations_are_bounded() {
        assert_eq!(node(" bd-a1 "), Ok("bd-a1"));
        assert_eq!(node(&"é".repeat(256)), Ok("é".repeat(256).as_str()));
        for bad in ["", "  ", "a|b", "a\nb", "\u{7f}", &"x".repeat(257)] {
            assert_eq!(node(bad).unwrap_err().code, Code::InvalidValue, "{bad:?}");
        }
        let canonicalized = |field: &str, text: &str| {
            let mut arguments = Map::from_iter([(field.to_owned(), json!(text))]);
            canonical(&mut arguments).map(|()| arguments[field].clone())
        };
        assert_eq!(canonicalized("kind", "Parent-Child").unwrap(), "parent");
        assert_eq!(canonicalized("kind", "relates-to").unwrap(), "related");
        assert_eq!(canonicalized("type", " Bug").unwrap(), "bug");
        assert_eq!(
            canonicalized("type", "a|b").unwrap(),
            "a|b",
            "only relations and nodes refuse the divider"
        );
        for (field, bad) in [("kind", "a|b"), ("kind", ""), ("type", "a\tb"), ("type", &"x".repeat(129))] {
            assert_eq!(canonicalized(field, bad).unwrap_err().code, Code::InvalidValue, "{field} {bad:?}");
        }
    }
}
