//! `beads.watch`: events through a tool.

use serde_json::json;

use crate::sandbox::both;
use crate::tool::{apply, chunks, done, refused};

#[test]
fn without_a_cursor_only_the_current_cursor_is_returned() {
    both(|sandbox| {
        apply(sandbox, "beads.create", &json!({"title": "Before", "id": "bd-a"}));
        let start = done(sandbox, "beads.watch", &[], &json!({}));
        assert_eq!(start["result"]["events"], json!([]), "{start}");
        let cursor = start["result"]["cursor"].as_str().unwrap().to_owned();

        apply(sandbox, "beads.create", &json!({"title": "After", "id": "bd-b"}));
        apply(sandbox, "beads.close", &json!({"id": "bd-a", "reason": "done"}));
        let answer = done(sandbox, "beads.watch", &[], &json!({"since": cursor, "timeout_ms": 1000}));
        let events = answer["result"]["events"].as_array().unwrap();
        let seen: Vec<_> = events.iter().map(|event| (&event["type"], &event["id"])).collect();
        assert_eq!(
            seen,
            [(&json!("created"), &json!("bd-b")), (&json!("closed"), &json!("bd-a"))],
            "{answer}"
        );

        let one = done(sandbox, "beads.watch", &[], &json!({"since": "0", "ids": ["bd-b"], "limit": 5}));
        assert_eq!(one["result"]["events"][0]["id"], "bd-b", "{one}");
        let stream = chunks(sandbox, "beads.watch", &json!({"since": "0", "stream": true}));
        assert_eq!(stream.last().unwrap()["final"], true, "{stream:?}");
    });
}

#[test]
fn a_cursor_of_another_store_is_refused() {
    both(|sandbox| {
        apply(sandbox, "beads.create", &json!({"title": "One"}));
        refused(sandbox, "beads.watch", &[], &json!({"since": "zzzz-99"}), "conflict", 1);
        let failure =
            refused(sandbox, "beads.watch", &[], &json!({"since": "yesterday"}), "invalid_value", 2);
        assert_eq!(failure["field"], "since");
    });
}
