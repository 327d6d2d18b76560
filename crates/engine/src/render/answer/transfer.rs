//! The results of imports and exports.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::ExportFormat;

/// The result of an import.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct ImportAnswer {
    /// The counts and notices.
    pub summary: beads_core::import::Summary,
    /// One decision per line, on request. They are sent separately from the answer.
    #[serde(skip)]
    pub decisions: Option<Vec<beads_core::import::Decision>>,
}

/// All beads in a format for other programs, inline or in a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportAnswer {
    /// The format.
    pub format: ExportFormat,
    /// The number of beads.
    pub beads: usize,
    /// The file that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The export itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// The result of `import --rescued`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RescuedAnswer {
    /// The rescue file.
    pub file: PathBuf,
    /// Beads that did not exist here.
    pub added: usize,
    /// Beads that existed here in another state.
    pub changed: usize,
    /// Values that lost to concurrent writes. They are kept as conflicts.
    pub conflicts: usize,
    /// Whether nothing was changed.
    pub dry_run: bool,
}
