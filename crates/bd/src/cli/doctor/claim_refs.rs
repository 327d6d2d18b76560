//! Whether the remote was seen to reject claim refs.

use serde_json::Value;

use super::Examined;
use super::finding::warning;

/// Reports a remote that refused a claim ref.
pub fn check(examined: &Examined) -> Vec<Value> {
    let reason = examined.status["sync"]["claim_refs_refused"].as_str();
    reason.map(refused).into_iter().collect()
}

/// Describes a remote that does not accept claim refs.
pub fn refused(reason: &str) -> Value {
    let message = format!(
        "the remote does not accept claim refs ({reason}), so each machine decides claims on its own; \
         most servers accept them after bd config set claim.ref_prefix refs/heads/beads-claims/"
    );
    warning("claim_refs_refused", message)
}
