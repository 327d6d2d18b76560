//! Unsaved changes of a repository that was replaced, and journals that lost their end.

use std::path::Path;

use beads_core::query::Severity;
use beads_engine::{journal_end, rescued};
use serde_json::{Value, json};

use super::Examined;

/// Reports rescue files that were not imported.
pub fn check(examined: &Examined) -> Vec<Value> {
    let files = rescued::of(examined.place);
    let finding =
        |path: &Path| about_file(Severity::Warning, "rescued_changes", path, &rescued::describe(path));
    files.iter().map(|path| finding(path)).collect()
}

/// Reports journals that were shorter than expected when they were opened.
pub fn check_journal(examined: &Examined) -> Vec<Value> {
    let place = examined.place;
    let finding = |path: &Path| {
        about_file(Severity::Error, "journal_went_back", path, &journal_end::describe(place, path))
    };
    journal_end::losses(place).iter().map(|path| finding(path)).collect()
}

fn about_file(severity: Severity, code: &str, path: &Path, message: &str) -> Value {
    json!({
        "severity": severity.as_str(), "code": code, "file": path, "line": null, "id": null, "message": message,
    })
}
