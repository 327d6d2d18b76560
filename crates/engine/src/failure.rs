//! The error that a command reports: a code for programs, a message for people, and details.

pub use beads_core::{Code, ToolCode, exit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The error of a failed command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The error code.
    pub code: Code,
    /// What went wrong, for people.
    pub message: String,
    /// Further facts, for programs; `null` if there are none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl Failure {
    /// Returns a failure without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Value::Null }
    }

    /// Returns the failure of a wrongly used command.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// Returns the failure for something that only a bug in this program can cause.
    pub fn internal(why: impl std::fmt::Display) -> Self {
        Self::new(Code::InternalError, why.to_string())
    }

    /// Returns the failure for an invalid value.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidValue, message)
    }

    /// Returns the failure of a file operation. `action` is a verb such as "read".
    pub fn io(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let message = format!("cannot {action} {}: {error}", path.display());
        Self::new(Code::IoError, message)
            .with(json!({"path": path.to_string_lossy(), "kind": IoKind::of(error).as_str()}))
    }

    /// Returns the failure for a path, given in a field of a call, that does not exist.
    pub fn missing_path(message: impl Into<String>, path: &std::path::Path, field: &str) -> Self {
        let kind = IoKind::NotFound.as_str();
        Self::new(Code::IoError, message)
            .with(json!({"path": path.to_string_lossy(), "kind": kind, "field": field}))
    }

    /// Replaces the details.
    pub fn with(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// Returns this failure as the answer to a request that waited, which must not suggest to wait.
    pub fn after_waiting(self) -> Self {
        if self.code == Code::NothingReady { self.with(json!({"waited": true})) } else { self }
    }

    /// Returns the exit status of the command.
    pub fn exit(&self) -> u8 {
        if self.is_late_remote() { exit::NETWORK } else { self.code.exit() }
    }

    /// Returns whether a remote exceeded the deadline of a sync.
    fn is_late_remote(&self) -> bool {
        self.code == Code::Timeout && self.details.get("remote").is_some()
    }

    /// Returns the code of this failure in the answers of the JSON tools.
    pub fn tool(&self) -> ToolCode {
        match (&self.code, self.io_kind()) {
            (Code::IoError, Some(IoKind::NotFound)) => ToolCode::NotFound,
            (Code::IoError, Some(IoKind::PermissionDenied)) => ToolCode::PermissionDenied,
            (Code::IoError, Some(IoKind::InvalidPath)) => ToolCode::InvalidValue,
            _ => self.code.tool(),
        }
    }

    /// Returns the exit status of a JSON tool with this failure.
    pub fn tool_exit(&self) -> u8 {
        if self.is_late_remote() { exit::NETWORK } else { self.tool().exit() }
    }

    fn io_kind(&self) -> Option<IoKind> {
        IoKind::ALL.into_iter().find(|kind| self.details["kind"] == kind.as_str())
    }

    /// Returns what to do about the failure, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match (&self.code, self.io_kind()) {
            (Code::IoError, Some(IoKind::NotFound | IoKind::InvalidPath)) => Some("check the path"),
            (Code::IoError, Some(IoKind::PermissionDenied)) => Some("check the permissions of the path"),
            (Code::IoError, Some(IoKind::StorageFull)) => {
                Some("free some disk space, then run the command again")
            }
            // The hint is about beads. Other things that are missing name their list in the message.
            (Code::NotFound, _) if self.details["kind"].is_string() => None,
            (Code::NothingReady, _) if self.details["waited"] == true => {
                Some("bd blocked shows blocked beads")
            }
            _ => self.code.hint(),
        }
    }

    /// Returns `Error: …` on one line, with the hint.
    pub fn line(&self) -> String {
        match self.hint() {
            Some(hint) => format!("Error: {} ({hint})\n", self.message),
            None => format!("Error: {}\n", self.message),
        }
    }

    /// Returns what `--json` prints on standard output.
    pub fn json(&self) -> ErrorAnswer<'_> {
        let Self { code, message, details } = self;
        ErrorAnswer { error: ErrorBody { code, message, details, hint: self.hint() } }
    }
}

/// A failure, as `--json` prints it in both dialects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorAnswer<'a> {
    error: ErrorBody<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ErrorBody<'a> {
    code: &'a Code,
    message: &'a str,
    details: &'a Value,
    hint: Option<&'a str>,
}

/// The kinds of file system errors that a caller can do something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IoKind {
    NotFound,
    PermissionDenied,
    InvalidPath,
    StorageFull,
    Other,
}

impl IoKind {
    const ALL: [Self; 5] =
        [Self::NotFound, Self::PermissionDenied, Self::InvalidPath, Self::StorageFull, Self::Other];

    fn of(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound => Self::NotFound,
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Self::PermissionDenied,
            Kind::IsADirectory | Kind::NotADirectory | Kind::InvalidFilename | Kind::InvalidInput => {
                Self::InvalidPath
            }
            Kind::StorageFull | Kind::QuotaExceeded => Self::StorageFull,
            _ => Self::Other,
        }
    }

    /// Returns the kind as it is spelled in the details of a failure.
    fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::PermissionDenied => "permission_denied",
            Self::InvalidPath => "invalid_path",
            Self::StorageFull => "storage_full",
            Self::Other => "other",
        }
    }
}

impl From<beads_core::Error> for Failure {
    fn from(error: beads_core::Error) -> Self {
        use beads_core::Error as E;
        let details = match &error {
            E::Ambiguous { candidates, .. } => json!({"candidates": candidates}),
            E::HashMismatch { id, current, if_hash: None } => json!({"id": id, "content_hash": current}),
            E::HashMismatch { id, current, if_hash } => {
                json!({"id": id, "content_hash": current, "if_hash": if_hash})
            }
            E::AlreadyClaimed { id, holder, expires } => {
                json!({"id": id, "holder": holder, "expires": expires.map(|time| time.to_string())})
            }
            E::NotHolder { id, holder } => json!({"id": id, "holder": holder}),
            E::StaleClaim { id, current, holder } => json!({"id": id, "fence": current, "holder": holder}),
            E::OpenBlockers { id, open } => json!({"id": id, "blocked_by": open}),
            E::Cancelled { id, reason } => json!({"id": id, "reason": reason}),
            E::EvidenceRequired { id } => json!({"id": id}),
            E::OpenChildren { id, open } => json!({"id": id, "open_children": open}),
            E::UndoBlocked(obstacles) => {
                let obstacle = |one: &beads_core::Obstacle| {
                    let (by, at) = (one.mark.by(), one.mark.at());
                    let time = beads_core::Timestamp::from(at).to_string();
                    json!({"id": one.id, "what": one.what, "by": by, "at": at, "time": time})
                };
                json!({"obstacles": obstacles.iter().map(obstacle).collect::<Vec<_>>()})
            }
            E::Cycle(ids) => json!({"cycle": ids}),
            E::Corrupt { file, line, .. } => json!({"file": file, "line": line}),
            E::Invalid { field, .. } => json!({"field": field}),
            _ => Value::Null,
        };
        Self::new(error.code(), error.to_string()).with(details)
    }
}

impl From<beads_store::Error> for Failure {
    fn from(error: beads_store::Error) -> Self {
        match error {
            beads_store::Error::Core(error) => error.into(),
            other => Self::from(&other),
        }
    }
}

/// Parses a `Retry-After` value, which is a number of seconds or a date, and returns the seconds to wait.
fn seconds_until(retry_after: &str) -> Option<u64> {
    let until = |date: jiff::Zoned| date.timestamp().duration_since(jiff::Timestamp::now()).as_secs();
    let date = || jiff::fmt::rfc2822::parse(retry_after).ok().map(until);
    let seconds = retry_after.parse().ok();
    seconds.or_else(|| date().map(|seconds| u64::try_from(seconds).unwrap_or_default()))
}

/// Converts an error that several requests share. Errors of the core lose their details.
impl From<&beads_store::Error> for Failure {
    fn from(error: &beads_store::Error) -> Self {
        let details = match error {
            beads_store::Error::CursorExpired { oldest, .. } => json!({"oldest": oldest}),
            beads_store::Error::CursorAhead { newest, .. } => json!({"newest": newest}),
            beads_store::Error::Timeout { remote, .. } => json!({"remote": remote}),
            beads_store::Error::RateLimited { remote, retry_after, .. } => {
                json!({"remote": remote, "retry_after": retry_after, "retry_after_s": seconds_until(retry_after)})
            }
            beads_store::Error::ProgramMissing { program, remote } => {
                json!({"program": program, "remote": remote})
            }
            _ => Value::Null,
        };
        Self::new(error.code(), error.to_string()).with(details)
    }
}
