//! Statuses and priorities have a second spelling at this door; both are understood, and both are shown.

use beads_core::{Priority, Status};
use beads_engine::failure::Failure;
use serde_json::Value;

/// `LOW`, `MEDIUM`, `HIGH` stand for 3, 2, 1.
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

/// `TODO`, `ACTIVE`, `DONE` stand for `open`, `in_progress`, `closed`.
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
