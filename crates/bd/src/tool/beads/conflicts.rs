use beads_core::op::{ConflictDismiss, ConflictRestore};
use beads_core::{ConflictId, Op};
use beads_engine::failure::Failure;
use beads_engine::request::Call;
use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::tool::call_fields::ClaimOptions;
use crate::tool::{Action, Context, Definition, Outcome, field};

/// List values that concurrent writes overwrote, and restore them
///
/// Without an id it lists conflicts; with an id it shows one; with `resolve` it resolves it and returns the bead.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("dependencies" = {"resolve": ["id"]}))]
pub struct Conflicts {
    /// Conflict id
    #[serde(default)]
    #[schemars(with = "field::ConflictId")]
    id: Option<ConflictId>,
    /// restore writes the losing value again; dismiss keeps the winner
    #[serde(default)]
    #[schemars(with = "Option<field::Resolution>")]
    resolve: Option<Resolution>,
    /// Also list dismissed conflicts
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Resolution {
    Restore,
    Dismiss,
}

impl Definition for Conflicts {
    const NAME: &'static str = "beads.conflicts";
    const EXAMPLE: &'static str = r#"{"all":true}"#;
    type Output = output::ConflictsOrBead;
}

impl Action for Conflicts {
    const MUTATES: bool = true;

    fn act(self, context: &Context<'_>) -> Result<Outcome, Failure> {
        let outcome = match (self.id, self.resolve) {
            (None, _) => context.ask(Call::ConflictList { all: self.all, bead: None })?,
            (Some(id), None) => context.ask(Call::ConflictShow { id: id.to_string() })?,
            (Some(id), Some(Resolution::Restore)) => {
                return context.mutate(Op::ConflictRestore(ConflictRestore { id }), &ClaimOptions::default());
            }
            (Some(id), Some(Resolution::Dismiss)) => {
                return context.mutate(Op::ConflictDismiss(ConflictDismiss { id }), &ClaimOptions::default());
            }
        };
        Ok(outcome.with("applied", false))
    }
}
