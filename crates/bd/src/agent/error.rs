//! Errors of `bb` commands: a code of the contract (§9) and a more specific reason.

use std::path::Path;

pub use beads_core::Code;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A more specific reason than the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    DamagedFile,
    IdTaken,
    InvalidAgentId,
    InvalidBeadId,
    InvalidDisplay,
    InvalidId,
    InvalidLimit,
    InvalidMessage,
    InvalidMessageId,
    InvalidNow,
    InvalidPath,
    InvalidRole,
    InvalidScope,
    InvalidState,
    InvalidThread,
    InvalidTtl,
    KeyReused,
    NoHome,
    NoRecipients,
    ReadForbidden,
    ReservationExpired,
    ReservedAgentId,
    StoreBusy,
    Usage,
}

/// The refusal or failure of one command.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error, JsonSchema)]
#[error("{message}")]
pub struct Error {
    pub code: Code,
    /// What happened, what was not changed, what to do next.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// The result of every operation here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), reason: None, details: Map::new() }
    }

    /// Returns an `INVALID_ARGS` error that says what is invalid.
    pub fn invalid(reason: Reason, message: impl Into<String>) -> Error {
        Error::new(Code::InvalidArgs, message).with_reason(reason)
    }

    /// Returns the error for a file that exists but cannot be read. The file is left unchanged.
    pub fn unreadable(file: &Path, why: impl std::fmt::Display) -> Error {
        Error::new(Code::IoReadFailed, format!("Cannot read {}: {why}. Nothing was changed.", file.display()))
            .with("file", file.to_string_lossy())
    }

    /// Returns the error for a file whose content is invalid. The file is left unchanged.
    pub fn damaged(file: &Path, why: impl std::fmt::Display) -> Error {
        let message = format!("{} is damaged: {why}. It was left unchanged.", file.display());
        Error::new(Code::IoReadFailed, message)
            .with_reason(Reason::DamagedFile)
            .with("file", file.to_string_lossy())
    }

    pub fn unwritable(file: &Path, why: impl std::fmt::Display) -> Error {
        Error::new(Code::IoWriteFailed, format!("Cannot write {}: {why}.", file.display()))
            .with("file", file.to_string_lossy())
    }

    #[must_use]
    pub fn with_reason(mut self, reason: Reason) -> Error {
        self.reason = Some(reason);
        self
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Error {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}
