use serde::{Deserialize, Serialize};

use super::LocalClock;
use crate::dialect::Dialect;
use crate::field_name::FieldName;

/// How to render an answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    /// A value, text or JSON.
    pub format: Format,
    /// The requested dialect. If absent, the store's setting decides, then the kind of caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The command line had options that only programs written for the Go `bd` pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compat_caller: bool,
    /// Color the text.
    pub color: bool,
    /// The columns of the terminal; absent if the output is piped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// Show local and relative times in text. If absent, times are exact and in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<LocalClock>,
    /// Print errors only.
    pub quiet: bool,
    /// As text, print only the ids of the beads that a mutation affected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ids_only: bool,
    /// Only these fields of each bead; all if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldName>,
    /// Print more details.
    pub verbose: bool,
}

impl Output {
    /// Returns the dialect for this kind of caller, if neither the request nor the store's settings decide.
    pub fn default_dialect(&self) -> Dialect {
        if self.compat_caller { Dialect::Compat } else { Dialect::Spec }
    }
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A JSON value in the reply, for programs that use the protocol directly.
    #[default]
    Value,
    /// Text for people.
    Text,
    /// JSON text, as `--json` prints it.
    Json,
}
