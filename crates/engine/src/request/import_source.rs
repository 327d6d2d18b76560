//! The input of an import.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The files of an import. Paths are absolute.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ImportSource {
    /// A JSONL file, as the Go `bd` or `bd export` writes it.
    Jsonl {
        /// The file.
        path: PathBuf,
        /// The name of the file in reports.
        name: String,
        /// The file that lists deletions, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deletions: Option<PathBuf>,
        /// Set if the path is a temporary copy for this request: a digest of the content, or the commit it is
        /// from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy_of: Option<String>,
    },
    /// A directory with the files of a legacy store (of the earlier Rust implementation).
    LegacyStore {
        /// The directory.
        directory: PathBuf,
        /// Set if the directory is a temporary copy for this request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy_of: Option<String>,
    },
}

impl ImportSource {
    /// Identifies what is imported: the same for every copy of it.
    pub fn identity(&self) -> Cow<'_, str> {
        match self {
            Self::Jsonl { copy_of: Some(what), .. } | Self::LegacyStore { copy_of: Some(what), .. } => {
                what.into()
            }
            Self::Jsonl { path, .. } | Self::LegacyStore { directory: path, .. } => path.to_string_lossy(),
        }
    }
}

/// What the client knows about the input of an import before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputNotes {
    /// Where the client found the input, if the user did not give a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Warnings to repeat in the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl InputNotes {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
