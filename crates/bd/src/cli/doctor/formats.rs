//! Stores of earlier versions.

use beads_core::snapshot::FORMAT_VERSION_WITHOUT_ARCHIVE as LATEST;
use beads_engine::service;
use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};

/// Reports an earlier format, and a store of the earlier Rust implementation.
pub fn check(examined: &Examined) -> Vec<Value> {
    let place = examined.place;
    let legacy = if place.exists() { service::legacy_commits(place).unwrap_or_default() } else { Vec::new() };
    findings(examined.status["format_version"].as_u64(), &legacy)
}

fn findings(version: Option<u64>, legacy: &[String]) -> Vec<Value> {
    let mut findings = Vec::new();
    if !legacy.is_empty() {
        let commits = legacy.join(", ");
        findings.push(warning(
            "legacy_store",
            format!("the earlier Rust bd wrote {commits}; run bd migrate to import its beads"),
        ));
    }
    if let Some(version) = version.filter(|version| *version < LATEST) {
        findings.push(info(
            beads_core::Code::EarlierFormat.as_str(),
            format!(
                "the store has format {version} of {LATEST}; it is upgraded when a command needs it, or ahead of \
                 time by bd migrate"
            ),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_formats_are_reported() {
        assert!(findings(Some(LATEST), &[]).is_empty());
        assert_eq!(findings(Some(LATEST - 1), &[])[0]["code"], "earlier_format");
        assert_eq!(findings(None, &["c0ffee".to_owned()])[0]["code"], "legacy_store");
    }
}
