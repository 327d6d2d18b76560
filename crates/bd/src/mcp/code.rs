//! The words by which this door names what went wrong (contract 4), and the way out of each.
//!
//! `BUDGET_EXCEEDED` is never said: a budget cuts an answer down and never refuses it. `CHECKPOINTS_NOT_CONFIRMED` is never said either:
//! beads have no checkpoints to confirm before they are closed.

use beads_engine::failure::Failure;
use serde_json::json;

use super::lines::command;

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
        "invalid_value" if field(&failure.details).is_some_and(|field| NAMES.contains(&field)) => {
            "INVALID_NAME"
        }
        "usage" | "invalid_value" | "invalid_type" | "missing_field" | "invalid_json" | "too_large"
        | "invalid_request" | "self_dependency" | "unknown_key" => "INVALID_INPUT",
        "revision_mismatch" => "REVISION_MISMATCH",
        "expected_target_mismatch" => "EXPECTED_TARGET_MISMATCH",
        "strict_targeting" => "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
        "conflict" | "already_claimed" | "not_holder" | "stale_claim" | "closed" | "cycle" | "id_taken"
        | "partial_failure" | "sync_contention" => "CONFLICT",
        other => return other.to_ascii_uppercase(),
    }
    .to_owned()
}

/// What to do about it, in a few words.
pub fn recovery(failure: &Failure) -> &'static str {
    match failure.code.as_str() {
        "no_store" => "start bd mcp inside a git repository, or make the first bead",
        "unknown_workspace" => "leave workspace out",
        "not_found" | "deleted" | "ambiguous_id" => "take an id from status",
        "dependency_not_found" => "beads_show lists the dependencies",
        "no_focus" => "claim one with next, or give id",
        "conflict" | "revision_mismatch" => "read it again and decide anew",
        "expected_target_mismatch" => "leave expected_target_id out, or name that bead",
        "strict_targeting" => "give expected_target_id",
        "already_claimed" | "stale_claim" | "not_holder" => "take another",
        "closed" => "beads_reopen it, or take another",
        "usage" | "invalid_value" | "invalid_type" | "missing_field" | "invalid_name" => {
            "see the tool's inputSchema"
        }
        "busy" => "try again",
        "corrupt_store" => "run bd validate, then bd repair --dry-run",
        _ => failure.hint().unwrap_or("the message says what is wrong"),
    }
}

/// Calls that get ahead from here, at most two, each of which succeeds as it stands.
pub fn ways_out(failure: &Failure) -> Vec<(&'static str, serde_json::Value)> {
    match failure.code.as_str() {
        "no_focus" | "already_claimed" | "closed" | "stale_claim" | "not_holder" => {
            vec![("next", json!({})), ("status", json!({}))]
        }
        "not_found" | "deleted" | "ambiguous_id" => vec![("status", json!({"ready": 10}))],
        _ => Vec::new(),
    }
}

/// The line of a portal.
pub fn error_line(failure: &Failure) -> String {
    // Secrets go before anything is cut: half of one is one.
    let message = super::redact::text(&beads_engine::escape::escape(&failure.message));
    let kept = super::boundary::floor(&message, MAX_MESSAGE_BYTES);
    let cut = if kept < message.len() { "…" } else { "" };
    let mut text = format!("ERROR: {} {}{cut} | fix: {}", code(failure), &message[..kept], recovery(failure));
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
        let text = error_line(&Failure::new("no_focus", "you hold\nno bead"));
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
    }
}
