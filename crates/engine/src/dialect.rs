//! The two JSON dialects of `--json` (DESIGN §2). They differ in field names and nesting, never in content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The field names and nesting of `--json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// As in the specification: `notes` is the log.
    #[default]
    Spec,
    /// As programs written for the Go `bd` expect: `notes` is one text, the log is `comments`.
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
