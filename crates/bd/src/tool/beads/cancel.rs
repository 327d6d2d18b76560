use beads_core::Op;
use beads_core::op::Cancel;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Cancel {
    const NAME: &'static str = "beads.cancel";
    const ABOUT: Option<&'static str> = Some(
        "Close a bead that will not be done\n\n\
        Final until it is reopened: a worker that closes it later is refused and gets the reason.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"the feature was dropped"}"#;
    type Output = output::ClosedBead;
}

impl Mutation for Cancel {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Cancel(self))
    }
}
