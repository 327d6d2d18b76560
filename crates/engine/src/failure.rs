//! Every way a command can fail, as its caller sees it: a code for programs, a sentence for people, an exit code for
//! shells, and what to do next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Exit codes, the same behind every door (DESIGN §2).
pub mod exit {
    pub const OK: u8 = 0;
    pub const DOMAIN: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const NETWORK: u8 = 22;
    pub const MISSING: u8 = 127;
}

/// One row of the table below: code, exit, and a way out.
struct Row(&'static str, u8, &'static str);

/// The table of errors. Codes that are not in it are domain errors without a hint.
const TABLE: &[Row] = &[
    Row("usage", exit::USAGE, "see --help"),
    Row("invalid_value", exit::USAGE, ""),
    Row("invalid_json", exit::USAGE, "give one JSON object"),
    Row("missing_field", exit::USAGE, "--schema shows what is needed"),
    Row("invalid_type", exit::USAGE, "--schema shows what is expected"),
    Row("not_found", exit::DOMAIN, "bd list shows all beads"),
    Row("deleted", exit::DOMAIN, "bd restore brings it back"),
    Row("ambiguous_id", exit::DOMAIN, "type more of it"),
    Row("id_taken", exit::DOMAIN, "leave out --id to get a new one"),
    Row("conflict", exit::DOMAIN, "read it again and decide anew"),
    Row("already_claimed", exit::DOMAIN, "bd ready shows what is free"),
    Row("request_id_reused", exit::DOMAIN, "a new request needs a new id"),
    Row("too_many_requests", exit::DOMAIN, "leave out --request-id, or wait until older ones are a day old"),
    Row("nothing_ready", exit::DOMAIN, "bd blocked shows what waits, --wait waits for work"),
    Row("stale_claim", exit::DOMAIN, "somebody else has it now; claim again or leave it"),
    Row("cursor_expired", exit::DOMAIN, "look at everything once with bd list, then watch from now"),
    Row(
        "cursor_ahead",
        exit::DOMAIN,
        "it belongs to another store, or the store was restored; watch from now",
    ),
    Row("timeout", exit::DOMAIN, ""),
    Row("not_holder", exit::DOMAIN, "only its holder gives it back, or --force with a reason"),
    Row("closed", exit::DOMAIN, ""),
    Row("dependency_not_found", exit::DOMAIN, "bd dep list shows what there is; --type names the kind"),
    Row("nothing_to_undo", exit::DOMAIN, "bd log shows what was done to a bead"),
    Row("cannot_undo", exit::DOMAIN, ""),
    Row("undo_conflict", exit::DOMAIN, "bd log shows both; decide anew with bd update"),
    Row("corrupt_store", exit::DOMAIN, "bd validate shows where, bd repair --dry-run what can be saved"),
    Row("newer_format", exit::DOMAIN, ""),
    Row("busy", exit::DOMAIN, "try again, or see bd daemon status"),
    Row("no_store", exit::DOMAIN, "bd init makes one, and so does the first bd create"),
    Row("journal_failed", exit::DOMAIN, "see whether the disk is full, then run the command again"),
    Row("daemon_unreachable", exit::DOMAIN, "bd --no-daemon works without it"),
    Row("network_error", exit::NETWORK, "bd status shows what is waiting"),
    Row("push_refused", exit::DOMAIN, "ask for the right to push, or set another sync.remote"),
    Row("remote_invalid", exit::DOMAIN, "somebody must look at the remote's branch beads/store"),
    Row("sync_contention", exit::DOMAIN, "run bd sync again"),
    Row("not_set_up", exit::DOMAIN, "run bd setup without --check"),
    Row("invalid_name", exit::USAGE, ""),
    Row("unknown_key", exit::USAGE, "bd config list shows all keys"),
];

/// A failed command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), details: Value::Null }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", message)
    }

    /// Something that only a fault of ours can bring about.
    pub fn internal(why: impl std::fmt::Display) -> Self {
        Self::new("internal_error", why.to_string())
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid_value", message)
    }

    pub fn io(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new("io_error", format!("cannot {action} {}: {error}", path.display()))
    }

    pub fn with(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    pub fn exit(&self) -> u8 {
        row(&self.code).map_or(exit::DOMAIN, |row| row.1)
    }

    pub fn hint(&self) -> Option<&'static str> {
        row(&self.code).map(|row| row.2).filter(|hint| !hint.is_empty())
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
    code: &'a str,
    message: &'a str,
    details: &'a Value,
    hint: Option<&'a str>,
}

fn row(code: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.0 == code)
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
            E::StaleClaim { id, current } => json!({"id": id, "fence": current}),
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
