//! Claims whose holders are gone.

use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};

/// Reports claims of silent sessions and claims that lost to another machine. Beads in progress without a
/// claim are findings of `bd validate`.
pub fn check(examined: &Examined) -> Vec<Value> {
    findings(&examined.status)
}

fn findings(status: &Value) -> Vec<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let with_id = |mut finding: Value, claim: &Value| {
        finding["id"] = claim["id"].clone();
        finding
    };
    let silent = status["silent"].as_array().into_iter().flatten().map(|claim| {
        let (id, holder, since) = (text(&claim["id"]), text(&claim["holder"]), text(&claim["since"]));
        let message = format!(
            "{id} is claimed by {holder}, whose session has been silent since {since}; if it is gone, run bd claim {id} \
             --take-over"
        );
        with_id(info("silent_claim", message), claim)
    });
    let lost = status["sync"]["lost_claims"].as_array().into_iter().flatten().map(|claim| {
        let (id, holder, winner) = (text(&claim["id"]), text(&claim["holder"]), text(&claim["won_by"]));
        let conflict = text(&claim["conflict"]);
        let message = format!(
            "{holder} claimed {id}, but the claim of {winner} on another machine won; stop work on it, then run bd conflicts \
             dismiss {conflict}"
        );
        with_id(warning("lost_claim", message), claim)
    });
    silent.chain(lost).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn silent_and_lost_claims_are_reported_with_what_to_type() {
        assert!(findings(&Value::Null).is_empty());
        let found = findings(&json!({
            "silent": [{"id": "bd-1", "holder": "ann", "session": "s", "since": "2026-01-01T00:00:00Z"}],
            "sync": {"lost_claims": [{"id": "bd-2", "holder": "ann", "won_by": "bob", "conflict": "c1"}]},
        }));
        let says = |index: usize, words: &str| {
            found[index]["message"].as_str().is_some_and(|text| text.contains(words))
        };
        assert!(says(0, "bd claim bd-1 --take-over") && says(1, "bd conflicts dismiss c1"), "{found:?}");
        assert_eq!(found[1]["id"], "bd-2");
    }
}
