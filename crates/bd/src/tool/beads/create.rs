use beads_core::Op;
use beads_core::op::{Create, Dep};
use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Create {
    const NAME: &'static str = "beads.create";
    const ABOUT: Option<&'static str> = Some("Create a bead, with its parent and dependencies, in one step");
    const EXAMPLE: &'static str = r#"{"title":"Fix the login loop","type":"bug","priority":1}"#;
    type Output = output::CreatedBead;
}

impl Mutation for Create {
    /// Treats a dependency without a valid kind as an id, so that a wrong one is reported as not found.
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
