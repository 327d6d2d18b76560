//! Failures as `bd mcp` names them (contract 4), and the way out of each.
//!
//! `BUDGET_EXCEEDED` is never said: a budget cuts an answer down and never refuses it. `CHECKPOINTS_NOT_CONFIRMED` is never said either:
//! beads have no checkpoints to confirm before they are closed.

use beads_engine::failure::{Code, Failure};
use std::borrow::Cow;

use serde_json::json;

use super::lines::command;
use super::toolset::Toolset;
use crate::tool::check::UNKNOWN;

/// Messages tell back what was sent; a long one is not told back whole.
const MAX_MESSAGE_BYTES: usize = 400;

/// What is invalid about these is a name.
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

/// `labels` of `labels[0]`, as a check of a whole list says it.
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

/// Says what to do about it: an action in a few words, with no tool that the client was not shown. A tool that is not
/// listed can be called all the same, but a client of the core tools knows no others.
pub fn recovery(failure: &Failure, toolset: Toolset) -> &'static str {
    let is_core = toolset == Toolset::Core;
    match failure.code {
        Code::IoError if failure.details.get("field").is_some() => "give the path of one that is there",
        Code::DependencyNotFound if is_core => "take an id from status",
        Code::Conflict | Code::RevisionMismatch if is_core => "read it with next and decide anew",
        Code::Closed if is_core => "take another with next",
        Code::NoStore if is_core => "start bd mcp inside a git repository",
        ref code => code.recovery().unwrap_or("read the message, correct the call and send it again"),
    }
}

/// Calls that get ahead from here, at most two, each of which succeeds as it stands and is in every toolset.
pub fn ways_out(failure: &Failure) -> Vec<(&'static str, serde_json::Value)> {
    match failure.code {
        Code::NoFocus | Code::AlreadyClaimed | Code::Closed | Code::StaleClaim | Code::NotHolder => {
            vec![("next", json!({})), ("status", json!({}))]
        }
        Code::NotFound | Code::Deleted | Code::AmbiguousId => vec![("status", json!({"ready": 10}))],
        _ => vec![("status", json!({}))],
    }
}

/// The line of a portal.
pub fn error_line(failure: &Failure, toolset: Toolset) -> String {
    // Secrets go before anything is cut: half of one is one.
    let message = super::redact::text(&beads_engine::escape::escape(&failure.message));
    let kept = super::boundary::floor(&message, MAX_MESSAGE_BYTES);
    let cut = if kept < message.len() { "…" } else { "" };
    let mut text =
        format!("ERROR: {} {}{cut} | fix: {}", code(failure), &message[..kept], recovery(failure, toolset));
    for (tool, arguments) in ways_out(failure) {
        text.push('\n');
        text.push_str(&command(tool, &arguments));
    }
    super::redact::text(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_line_and_at_most_two_commands() {
        let text = error_line(&Failure::new(Code::NoFocus, "you hold\nno bead"), Toolset::Core);
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("ERROR: UNKNOWN_ID you hold\\nno bead | fix: "), "{text}");
        assert_eq!(text.lines().nth(1), Some("next"));
    }

    #[test]
    fn what_has_no_word_of_its_own_keeps_the_one_it_has() {
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
