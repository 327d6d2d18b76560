//! Whether a file of the store or of its archive is close to a size that is refused (docs/SCALE.md).

use beads_core::limits::MAX_MERGED_FILE_BYTES;
use beads_store::{GitRepository, Repository};
use serde_json::Value;

use super::Examined;
use super::finding::{error, warning};

const MB: u64 = 1_000_000;

/// The longest file that GitHub accepts in a push. Other hosting services have similar limits.
const HOSTED_FILE_BYTES: u64 = 100 * MB;

/// The longest file that a merge may produce.
const OWN_FILE_BYTES: u64 = MAX_MERGED_FILE_BYTES as u64;

const ADVICE: &str = "docs/SCALE.md says what to do";

/// Reports files of the last save that are past half of a limit.
pub fn check(examined: &Examined) -> Vec<Value> {
    let has_remote = examined.status["sync"]["remote"].is_string();
    // A ref that cannot be read is reported by the checks of the store.
    let sizes = sizes(examined).unwrap_or_default();
    sizes.into_iter().filter_map(|(name, size)| finding(&name, size, has_remote)).collect()
}

fn sizes(examined: &Examined) -> beads_store::Result<Vec<(String, u64)>> {
    let repository = GitRepository::open(&examined.place.git_dir)?;
    let mut sizes = Vec::new();
    for (tip, of) in [(repository.tip()?, ""), (repository.archive_tip()?, " of beads/archive")] {
        if let Some(tip) = tip {
            let snapshot = repository.snapshot(&tip)?;
            let files = snapshot.files().into_iter();
            sizes.extend(files.map(|(name, bytes)| (format!("{name}{of}"), bytes.len() as u64)));
        }
    }
    Ok(sizes)
}

/// Returns a finding for a file of this size. `has_remote` says whether a hosting service may be involved.
fn finding(name: &str, size: u64, has_remote: bool) -> Option<Value> {
    let shown = size / MB;
    if size * 2 >= OWN_FILE_BYTES {
        let message = format!(
            "{name} has {shown} MB, and bd makes no merge with a file over {} MB; {ADVICE}",
            OWN_FILE_BYTES / MB
        );
        let severity = if size > OWN_FILE_BYTES { error } else { warning };
        Some(severity("file_large", message))
    } else if has_remote && size * 2 >= HOSTED_FILE_BYTES {
        let message = format!(
            "{name} has {shown} MB, and hosting services refuse pushes with a file over {} MB; {ADVICE}",
            HOSTED_FILE_BYTES / MB
        );
        Some(warning("file_large", message))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_limit_is_a_warning() {
        let severity = |size, has_remote| {
            let found = finding("state.jsonl", size, has_remote)?;
            found["severity"].as_str().map(str::to_owned)
        };
        assert_eq!(severity(49 * MB, true), None);
        assert_eq!(severity(50 * MB, true).as_deref(), Some("warning"));
        assert_eq!(severity(101 * MB, true).as_deref(), Some("warning"), "other servers may accept it");
        assert_eq!(severity(101 * MB, false), None, "no hosting service is involved");
        assert_eq!(severity(300 * MB, false).as_deref(), Some("warning"));
        assert_eq!(severity(500 * MB, true).as_deref(), Some("error"));
    }
}
