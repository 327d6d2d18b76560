use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;

/// How the answer should look.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    pub format: Format,
    /// The dialect of a value or of JSON that was asked for; the store's setting and the caller decide when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The caller passed what only programs written for the Go `bd` pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compat_caller: bool,
    pub color: bool,
    /// Columns of the terminal; absent when the output is piped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    pub quiet: bool,
    /// As text, nothing but the ids of the beads that a mutation was about.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ids_only: bool,
    pub verbose: bool,
}

impl Output {
    /// The dialect that suits the caller when nothing else decides.
    pub fn dialect_of_caller(&self) -> Dialect {
        if self.compat_caller { Dialect::Compat } else { Dialect::Spec }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The answer as a value, for programs that speak the protocol themselves.
    #[default]
    Value,
    /// Rendered for people.
    Text,
    /// Rendered as `--json` prints it.
    Json,
}
