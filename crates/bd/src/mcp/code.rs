//! Error codes of `bd mcp` (contract 4), and how to recover from each.
//!
//! Two codes of the contract are never used: `BUDGET_EXCEEDED`, because a budget cuts an answer and never
//! refuses it, and `CHECKPOINTS_NOT_CONFIRMED`, because beads have no checkpoints.

use beads_engine::failure::{Code, Failure};
use std::borrow::Cow;

use serde_json::json;

use super::lines::command;
use super::toolset::Toolset;
use crate::tool::check::UNKNOWN;

/// Messages quote the caller's input, so they may be long.
const MAX_MESSAGE_BYTES: usize = 400;

/// Fields that hold names: an invalid value is an `INVALID_NAME`.
const NAMES: [&str; 10] = [
    "actor",
    "assignee",
    "label",
    "labels",
    "set_labels",
    "add_labels",
    "remove_labels",
    "prefix",
    "id",
    "name",
];

/// Returns the name of the field, such as `labels` for `labels[0]`.
fn field(details: &serde_json::Value) -> Option<&str> {
    details["field"].as_str()?.split(['[', '.', '/']).next()
}

/// Returns the code of a failure as clients of `bd mcp` know it.
pub fn code(failure: &Failure) -> Cow<'static, str> {
    let is_known = failure.details.get(UNKNOWN).is_none();
    let names = |details| is_known && field(details).is_some_and(|field| NAMES.contains(&field));
    match failure.code {
        Code::InvalidValue if names(&failure.details) => Code::InvalidName.mcp(),
        Code::IoError if failure.details.get("field").is_some() => Code::InvalidValue.mcp(),
        ref code => code.mcp(),
    }
}

/// Returns the recovery in a few words. For a client of the core toolset it names only core tools, because
/// the client does not know the others.
pub fn recovery(failure: &Failure, toolset: Toolset) -> &'static str {
    let is_core = toolset == Toolset::Core;
    match failure.code {
        Code::IoError if failure.details.get("field").is_some() => "give an existing path",
        Code::DependencyNotFound if is_core => "use an id from status",
        Code::Conflict | Code::RevisionMismatch if is_core => "read it with next, then decide again",
        Code::Closed if is_core => "claim another with next",
        Code::NoStore if is_core => "start bd mcp inside a git repository",
        ref code => code.recovery().unwrap_or("read the message, correct the call and send it again"),
    }
}

/// Returns at most two calls that help after a failure. Each succeeds unchanged and is in every toolset.
pub fn recovery_calls(failure: &Failure) -> Vec<(&'static str, serde_json::Value)> {
    match failure.code {
        Code::NoFocus => vec![("next", json!({})), ("status", json!({}))],
        // The caller may hold another bead already.
        Code::AlreadyClaimed | Code::Closed | Code::StaleClaim | Code::NotHolder => {
            vec![("next", json!({"more": true})), ("status", json!({}))]
        }
        Code::NotFound | Code::Deleted | Code::AmbiguousId => vec![("status", json!({"ready": 10}))],
        _ => vec![("status", json!({}))],
    }
}

/// Returns a portal's answer to a failed call: the error line and the suggested calls.
pub fn error_line(failure: &Failure, toolset: Toolset) -> String {
    // Redact before cutting, because half a secret is still a secret.
    let message = super::redact::text(&beads_engine::escape::escape(&failure.message));
    let kept = super::boundary::floor(&message, MAX_MESSAGE_BYTES);
    let cut = if kept < message.len() { "…" } else { "" };
    let mut text =
        format!("ERROR: {} {}{cut} | fix: {}", code(failure), &message[..kept], recovery(failure, toolset));
    for (tool, arguments) in recovery_calls(failure) {
        text.push('\n');
        text.push_str(&command(tool, &arguments));
    }
    super::redact::text(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_and_at_most_two_commands() {
        let text = error_line(&Failure::new(Code::NoFocus, "you hold\nno bead"), Toolset::Core);
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("ERROR: UNKNOWN_ID you hold\\nno bead | fix: "), "{text}");
        assert_eq!(text.lines().nth(1), Some("next"));
    }

    #[test]
    fn codes_without_an_mcp_name_keep_their_own() {
        assert_eq!(code(&Failure::new(Code::NetworkError, "")), "NETWORK_ERROR");
        let label = Failure::invalid("").with(json!({"field": "label"}));
        assert_eq!(code(&label), "INVALID_NAME");
        let labels = Failure::invalid("").with(json!({"field": "add_labels[3]"}));
        assert_eq!(code(&labels), "INVALID_NAME");
        assert_eq!(code(&Failure::invalid("")), "INVALID_INPUT");
        let unknown = Failure::invalid("").with(json!({"field": "labels", UNKNOWN: true}));
        assert_eq!(code(&unknown), "INVALID_INPUT");
    }
}
