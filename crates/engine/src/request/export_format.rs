//! The file formats of an export.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file format of an export.
// The help of `bd export` only names the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = beads_core::schema::plain_enum)]
pub enum ExportFormat {
    /// One JSON object per line.
    #[value(help = clap::builder::Resettable::Reset)]
    Jsonl,
    /// Comma-separated values.
    #[value(help = clap::builder::Resettable::Reset)]
    Csv,
    /// A Markdown page.
    #[value(help = clap::builder::Resettable::Reset)]
    Md,
    /// A graph for Graphviz.
    #[value(help = clap::builder::Resettable::Reset)]
    Dot,
    /// A Mermaid diagram.
    #[value(help = clap::builder::Resettable::Reset)]
    Mermaid,
    /// The files of a legacy store, as an object from file name to content.
    #[value(help = clap::builder::Resettable::Reset)]
    LegacyStore,
}
