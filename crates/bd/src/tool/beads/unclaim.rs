use beads_core::Op;
use beads_core::op::Unclaim;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Unclaim {
    const NAME: &'static str = "beads.unclaim";
    const ABOUT: Option<&'static str> = Some(
        "Release a claim on a bead\n\nOnly its holder may, unless the lease has expired or `force` is given with a reason.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"needs a decision first"}"#;
    type Output = output::Bead;
}

impl Mutation for Unclaim {
    fn op(self) -> Result<Op, Failure> {
        if self.force && self.reason.is_empty() {
            return Err(
                Failure::invalid("force requires a reason").with(serde_json::json!({"field": "reason"}))
            );
        }
        Ok(Op::Unclaim(self))
    }
}
