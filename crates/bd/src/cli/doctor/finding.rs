//! Findings of the surroundings, in the format of `bd validate`.

use beads_core::query::Severity;
use serde_json::{Value, json};

/// A problem that makes commands fail or lose work.
pub fn error(code: &str, message: impl Into<String>) -> Value {
    finding(Severity::Error, code, &message.into())
}

/// A problem that should be fixed.
pub fn warning(code: &str, message: impl Into<String>) -> Value {
    finding(Severity::Warning, code, &message.into())
}

/// A remark about something that may surprise the user.
pub fn info(code: &str, message: impl Into<String>) -> Value {
    finding(Severity::Info, code, &message.into())
}

fn finding(severity: Severity, code: &str, message: &str) -> Value {
    json!({
        "severity": severity.as_str(), "code": code, "file": null, "line": null, "id": null, "message": message,
    })
}
