//! A failed command, as its caller sees it: a code for programs, a sentence for people, and details.

pub use beads_core::{Code, exit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A failed command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Value::Null }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// Something that only a fault of ours can bring about.
    pub fn internal(why: impl std::fmt::Display) -> Self {
        Self::new(Code::InternalError, why.to_string())
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidValue, message)
    }

    pub fn io(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(Code::IoError, format!("cannot {action} {}: {error}", path.display()))
    }

    pub fn with(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    pub fn exit(&self) -> u8 {
        self.code.exit()
    }

    pub fn hint(&self) -> Option<&'static str> {
        self.code.hint()
    }

    /// `Error: …` on one line, with the way out.
    pub fn line(&self) -> String {
        match self.hint() {
            Some(hint) => format!("Error: {} ({hint})\n", self.message),
            None => format!("Error: {}\n", self.message),
        }
    }

    /// What `--json` prints on stdout.
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

impl From<beads_core::Error> for Failure {
    fn from(error: beads_core::Error) -> Self {
        use beads_core::Error as E;
        let details = match &error {
            E::Ambiguous { candidates, .. } => json!({"candidates": candidates}),
            E::HashMismatch { id, current } => json!({"id": id, "content_hash": current}),
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
            other => {
                let details = match &other {
                    beads_store::Error::CursorExpired { oldest, .. } => json!({"oldest": oldest}),
                    beads_store::Error::CursorAhead { newest, .. } => json!({"newest": newest}),
                    _ => Value::Null,
                };
                Self::new(other.code(), other.to_string()).with(details)
            }
        }
    }
}
