//! The two ways in which `--json` spells a bead (DESIGN §2). They differ in names and nesting, never in facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// As the specification has it: `notes` is the log.
    #[default]
    Spec,
    /// As programs written for the Go `bd` read it: `notes` is one text, the log is `comments`.
    Compat,
}

impl std::str::FromStr for Dialect {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text {
            "spec" => Ok(Self::Spec),
            "compat" => Ok(Self::Compat),
            _ => Err(Failure::invalid(format!("{text:?} is not spec or compat"))),
        }
    }
}
