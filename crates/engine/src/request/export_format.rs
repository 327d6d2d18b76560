//! The file formats of an export.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// No doc comments here: they would become help texts and schema descriptions.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    Jsonl,
    Csv,
    Md,
    Dot,
    Mermaid,
    /// The files of a legacy store, as an object from file name to content.
    #[value(help = clap::builder::Resettable::Reset)]
    LegacyStore,
}
