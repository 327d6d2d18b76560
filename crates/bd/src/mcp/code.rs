//! The words by which this door names what went wrong (contract 4), and the way out of each.
//!
//! `BUDGET_EXCEEDED` is never said: a budget cuts an answer down and never refuses it. `CHECKPOINTS_NOT_CONFIRMED` is never said either:
//! beads have no checkpoints to confirm before they are closed.

use beads_engine::failure::Failure;
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

/// A failure as clients of this door know it.
pub fn code(failure: &Failure) -> String {
    match failure.code.as_str() {
        "no_store" => "NOT_INITIALIZED",
        "unknown_workspace" => "UNKNOWN_WORKSPACE",
        "not_found" | "deleted" | "ambiguous_id" | "dependency_not_found" | "no_focus" => "UNKNOWN_ID",
        "invalid_name" => "INVALID_NAME",
        "invalid_value"
            if failure.details.get(UNKNOWN).is_none()
                && field(&failure.details).is_some_and(|field| NAMES.contains(&field)) =>
        {
            "INVALID_NAME"
        }
        "usage" | "invalid_value" | "invalid_type" | "missing_field" | "invalid_json" | "too_large"
        | "invalid_request" | "self_dependency" | "unknown_key" => "INVALID_INPUT",
        "io_error" if failure.details.get("field").is_some() => "INVALID_INPUT",
        "revision_mismatch" => "REVISION_MISMATCH",
        "expected_target_mismatch" => "EXPECTED_TARGET_MISMATCH",
        "strict_targeting" => "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
        "conflict" | "already_claimed" | "not_holder" | "stale_claim" | "closed" | "cycle" | "id_taken"
        | "partial_failure" | "sync_contention" => "CONFLICT",
        other => return other.to_ascii_uppercase(),
    }
    .to_owned()
}

/// What to do about it: an action in a few words, with no tool that the client was not shown.
pub fn recovery(failure: &Failure, toolset: Toolset) -> &'static str {
    // A tool that is not listed can be called all the same, but a client of the core tools knows no others.
    let full =
        |with: &'static str, without: &'static str| if toolset == Toolset::Core { without } else { with };
    let mail = |with: &'static str| if toolset == Toolset::Core { "ask the user to do it" } else { with };
    match failure.code.as_str() {
        "no_store" => "start bd mcp inside a git repository, or make the first bead",
        "unknown_workspace" => "leave workspace out",
        "not_found" | "deleted" | "ambiguous_id" => "take an id from status",
        "io_error" if failure.details.get("field").is_some() => "give the path of one that is there",
        "dependency_not_found" => full("read the dependencies with beads_show", "take an id from status"),
        "no_focus" => "claim one with next, or give id",
        "conflict" | "revision_mismatch" => {
            full("read it with beads_show and decide anew", "read it with next and decide anew")
        }
        "expected_target_mismatch" => "leave expected_target_id out, or name that bead",
        "strict_targeting" => "give expected_target_id",
        "already_claimed" | "stale_claim" | "not_holder" => "take another with next",
        "closed" => full("reopen it with beads_reopen, or take another with next", "take another with next"),
        "usage" | "invalid_value" | "invalid_type" | "missing_field" | "invalid_name" | "unknown_key"
        | "invalid_json" | "invalid_request" | "INVALID_ARGS" | "INVALID_CATEGORY" | "MISSING_BEAD_ID" => {
            "send the fields as the inputSchema of the tool has them"
        }
        "too_large" => "send less text, or split it over several calls",
        "id_taken" => "leave id out to get a new one",
        "self_dependency" | "cycle" => "leave out the dependency that closes the circle",
        "request_id_reused" => "send a new idempotency_key",
        "too_many_requests" => "leave idempotency_key out",
        "nothing_ready" => "wait with next and wait_s",
        "partial_failure" => "send those again that failed; details names them",
        "cursor_expired" | "cursor_ahead" => "watch again without a cursor",
        "ambiguous_revision" => "give more digits of the commit",
        "nothing_to_undo" | "cannot_undo" | "undo_conflict" => "read the bead and change it anew",
        "busy" | "timeout" | "sync_contention" | "daemon_older" => "call again in a moment",
        "network_error" | "push_refused" | "remote_invalid" | "git_error" | "dependency_missing" => {
            "go on working, everything is saved here; tell the user that the sync fails"
        }
        "corrupt_store" => "tell the user to run bd validate, then bd repair --dry-run",
        "newer_format" => "tell the user to upgrade bd",
        "journal_failed" | "io_error" => "tell the user to look at the disk, then call again",
        "clock_exhausted" => "tell the user to run bd doctor",
        "corrupt_config" => "tell the user to correct the settings file that the message names",
        "AGENT_NOT_FOUND" | "UNKNOWN_SENDER" | "UNKNOWN_RECIPIENT" | "DUPLICATE_AGENT_ID" => {
            full("take an agent from agent_list", mail("send to an agent that wrote to you, or to broadcast"))
        }
        "MESSAGE_NOT_FOUND" | "ACK_FORBIDDEN" => mail("take a message id from mail"),
        "RESERVATION_CONFLICT"
        | "RESERVATION_STALE_FOUND"
        | "RESERVATION_NOT_FOUND"
        | "RELEASE_FORBIDDEN" => full("read the reservations with agent_status", "work on other files"),
        _ => "read the message, correct the call and send it again",
    }
}

/// Calls that get ahead from here, at most two, each of which succeeds as it stands and is in every toolset.
pub fn ways_out(failure: &Failure) -> Vec<(&'static str, serde_json::Value)> {
    match failure.code.as_str() {
        "no_focus" | "already_claimed" | "closed" | "stale_claim" | "not_holder" => {
            vec![("next", json!({})), ("status", json!({}))]
        }
        "not_found" | "deleted" | "ambiguous_id" => vec![("status", json!({"ready": 10}))],
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
        let text = error_line(&Failure::new("no_focus", "you hold\nno bead"), Toolset::Core);
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("ERROR: UNKNOWN_ID you hold\\nno bead | fix: "), "{text}");
        assert_eq!(text.lines().nth(1), Some("next"));
    }

    #[test]
    fn what_has_no_word_of_its_own_keeps_the_one_it_has() {
        assert_eq!(code(&Failure::new("network_error", "")), "NETWORK_ERROR");
        let label = Failure::invalid("").with(json!({"field": "label"}));
        assert_eq!(code(&label), "INVALID_NAME");
        let labels = Failure::invalid("").with(json!({"field": "add_labels[3]"}));
        assert_eq!(code(&labels), "INVALID_NAME");
        assert_eq!(code(&Failure::invalid("")), "INVALID_INPUT");
        let unknown = Failure::invalid("").with(json!({"field": "labels", UNKNOWN: true}));
        assert_eq!(code(&unknown), "INVALID_INPUT");
    }
}
