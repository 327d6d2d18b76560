//! The second spelling of statuses and priorities in MCP. Both are accepted, and both are shown.

use beads_core::{Priority, Status};
use beads_engine::failure::Failure;
use serde_json::Value;

/// Parses a priority; `LOW`, `MEDIUM` and `HIGH` mean 3, 2 and 1.
pub fn priority(value: &Value) -> Result<Priority, Failure> {
    let digit = match value.as_str() {
        Some("HIGH") => "1".to_owned(),
        Some("MEDIUM") => "2".to_owned(),
        Some("LOW") => "3".to_owned(),
        Some(other) => other.to_owned(),
        None => value.to_string(),
    };
    Ok(digit.parse()?)
}

pub fn priority_word(priority: u64) -> &'static str {
    match priority {
        0 | 1 => "HIGH",
        2 => "MEDIUM",
        _ => "LOW",
    }
}

/// Parses a status; `TODO`, `ACTIVE` and `DONE` mean `open`, `in_progress` and `closed`.
pub fn status(text: &str) -> Result<Status, Failure> {
    Ok(match text {
        "TODO" => Status::Open,
        "ACTIVE" => Status::InProgress,
        "DONE" => Status::Closed,
        other => other.parse()?,
    })
}

pub fn status_word(status: &str) -> &'static str {
    match status {
        "closed" => "DONE",
        "in_progress" => "ACTIVE",
        _ => "TODO",
    }
}
