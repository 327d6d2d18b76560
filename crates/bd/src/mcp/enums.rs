//! Priorities have a second spelling at this door; both are understood.

use beads_core::Priority;
use serde_json::Value;

use crate::failure::Failure;

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
