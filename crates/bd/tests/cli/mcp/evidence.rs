use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

fn notes(client: &mut Client, id: &str) -> Value {
    let text = client.call("beads_show", json!({"id": id, "max_chars": 1_000_000}));
    let mut envelope: Value = serde_json::from_str(&text).unwrap();
    envelope["result"]["notes"].take()
}

#[test]
fn every_kind_of_evidence_survives_a_round_trip() {
    both(|sandbox| {
        let bead = sandbox.create(&["Prove it"]);
        let mut client = Client::start(sandbox);
        let kinds = [
            json!({"kind": "cmd_output", "command": "make test", "stdout": "1 passed\nok", "stderr": "", "exit_code": 0}),
            json!({"kind": "diff", "diff": "-a\n+b\n", "meta": {"files": 1}}),
            json!({"kind": "diff", "content": "as text"}),
            json!({"kind": "url", "url": "https://ci.example/7", "external_uri": "ci:7"}),
        ];
        for artifact in &kinds {
            client.call("note", json!({"id": bead, "text": "See", "artifact": artifact}));
        }
        let notes = notes(&mut client, &bead);
        let shown: Vec<&Value> = notes.as_array().unwrap().iter().map(|note| &note["artifact"]).collect();
        assert_eq!(shown, kinds.iter().collect::<Vec<_>>(), "{notes}");
        assert!(notes[0]["content"].as_str().unwrap().starts_with("See\nartifact: {"), "{notes}");
        let brief = client.call("next", json!({"id": bead, "max_chars": 10_000}));
        assert!(brief.contains("  artifact: {\"kind\":\"url\""), "{brief}");
    });
}

#[test]
fn evidence_is_bounded_redacted_on_output_and_complete_in_the_store() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bead = sandbox.create(&["Prove it"]);
    let mut client = Client::start(&sandbox);
    let long = json!({"kind": "cmd_output", "command": "x", "stdout": "line\n".repeat(10_000), "stderr": "token=abcdef123456",
        "meta": {"api_key": "abcdef123456"}});
    client.call("note", json!({"id": bead, "text": "Long", "artifact": long}));
    let shown = notes(&mut client, &bead)[0]["artifact"].take();
    assert_eq!(shown["truncated"], true);
    assert!(shown["stdout"].as_str().unwrap().len() <= 4 * 1024);
    assert_eq!(
        (&shown["stderr"], &shown["meta"]["api_key"]),
        (&json!("token=<redacted>"), &json!("<redacted>"))
    );
    let text = client.call("beads_show", json!({"id": bead, "max_chars": 1_000_000}));
    assert!(!text.contains("abcdef123456"), "{text}");
    assert!(sandbox.show(&bead)["notes"][0]["content"].as_str().unwrap().contains("abcdef123456"));
    for bad in [
        json!({"kind": "movie"}),
        json!({"kind": "url"}),
        json!({"kind": "diff", "stdout": "x"}),
        json!({"kind": "url", "url": "x", "more": 1}),
        json!({"kind": "cmd_output", "command": "x", "exit_code": "0"}),
        json!({"kind": "url", "url": "x", "meta": {"a": "x".repeat(5_000)}}),
        json!("url"),
    ] {
        let error = client.fail("note", json!({"id": bead, "text": "x", "artifact": bad}));
        assert!(error.starts_with("ERROR: INVALID_INPUT ") && error.len() < 1_000, "{bad}: {error}");
    }
    assert_eq!(sandbox.show(&bead)["notes"].as_array().unwrap().len(), 1);
}
