use beads_core::Op;
use beads_core::op::{Create, Dep};
use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Create {
    const NAME: &'static str = "beads.create";
    const ABOUT: Option<&'static str> =
        Some("Make a new bead, with its parent and dependencies, in one step");
    const EXAMPLE: &'static str = r#"{"title":"Fix the login loop","type":"bug","priority":1}"#;
    type Output = output::CreatedBead;
}

impl Mutation for Create {
    /// A dependency that names no kind is an id, and if it is none, no bead will be found for it.
    fn adapt(input: &mut Map<String, Value>) {
        let deps = input.get_mut("deps").and_then(Value::as_array_mut);
        for dep in deps.into_iter().flatten() {
            if let Some(text) = dep.as_str().filter(|text| text.parse::<Dep>().is_err()) {
                *dep = format!("depends-on:{text}").into();
            }
        }
    }

    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Create(Box::new(self)))
    }
}
