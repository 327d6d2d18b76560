//! `idempotency_key`: a call with a known key is not executed again; the first answer is returned.

use serde_json::{Value, json};

use crate::sandbox::{Mode, both};
use crate::sync::Remote;
use crate::tool::{apply, call, refused};

#[test]
fn a_key_makes_a_call_safe_to_repeat() {
    both(|sandbox| {
        let input = json!({"title": "Once", "idempotency_key": "k1"});
        let first = apply(sandbox, "beads.create", &input);
        assert_eq!(apply(sandbox, "beads.create", &input)["id"], first["id"]);
        let batch =
            json!({"batch": true, "idempotency_key": "k2", "items": [{"title": "A"}, {}, {"title": "B"}]});
        let ids = || {
            let (document, exit) = call(sandbox, "beads.create", &["--apply"], &batch);
            assert_eq!((exit, &document["results"][1]["field"]), (2, &json!("title")), "{document}");
            [document["results"][0]["result"]["id"].clone(), document["results"][2]["result"]["id"].clone()]
        };
        assert_eq!(ids(), ids());
        assert_eq!(sandbox.ids(&["list"]).len(), 3);
    });
}

#[test]
fn an_import_is_answered_as_it_was_the_first_time() {
    both(|sandbox| {
        let file = sandbox.dir().join("issues.jsonl");
        let line = |id: &str| {
            let at = "2026-01-01T00:00:00Z";
            format!(
                "{}\n",
                json!({"id": id, "title": "Old", "status": "open", "created_at": at, "updated_at": at})
            )
        };
        std::fs::write(&file, line("bd-old")).unwrap();
        let input = json!({"path": "issues.jsonl", "idempotency_key": "k"});
        let first = apply(sandbox, "beads.import", &input);
        assert_eq!(first["created"], 1, "{first}");
        std::fs::write(&file, line("bd-new")).unwrap();
        assert_eq!(apply(sandbox, "beads.import", &input), first);
        assert_eq!(sandbox.ids(&["list"]), ["bd-old"], "the second call was carried out");
        let other = json!({"path": "./other.jsonl", "idempotency_key": "k"});
        std::fs::write(sandbox.dir().join("other.jsonl"), line("bd-other")).unwrap();
        refused(sandbox, "beads.import", &["--apply"], &other, "conflict", 1);

        // Without a key the file is read again. A key is remembered even if there was nothing to import.
        assert_eq!(apply(sandbox, "beads.import", &json!({"path": "issues.jsonl"}))["created"], 1);
        let again = json!({"path": "issues.jsonl", "idempotency_key": "k2"});
        assert_eq!(apply(sandbox, "beads.import", &again)["unchanged"], 1);
        std::fs::write(&file, line("bd-newest")).unwrap();
        assert_eq!(apply(sandbox, "beads.import", &again)["unchanged"], 1);

        // Input from a pipe is identified by its content.
        let pipe = |text: &str| {
            let words = ["import", "-", "--request-id", "k3", "--json"];
            sandbox.run_with_input(&words, text.as_bytes())
        };
        let first = pipe(&line("bd-pipe"));
        assert_eq!((first.exit, &first.value()["created"]), (Some(0), &json!(1)), "{first:?}");
        assert_eq!(pipe(&line("bd-pipe")).value(), first.value());
        assert_eq!(pipe(&line("bd-else")).value()["error"]["code"], "request_id_reused");
    });
}

#[test]
fn a_sync_is_answered_as_it_was_the_first_time() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let remote = Remote::new();
        let sandbox = &remote.replica(mode);
        let input = json!({"idempotency_key": "k"});
        sandbox.create(&["One"]);
        let first = apply(sandbox, "beads.sync", &input);
        assert_eq!(first["pushed"], true, "{first}");
        sandbox.create(&["Two"]);
        assert_eq!(apply(sandbox, "beads.sync", &input), first, "{mode:?}");
        sandbox.run(&["daemon", "stop"]);
        assert_eq!(apply(sandbox, "beads.sync", &input), first, "the answer did not outlive the process");
        let later = apply(sandbox, "beads.sync", &json!({}));
        assert_ne!(later["commit"], first["commit"]);
        // A sync that failed is tried again with the same key.
        sandbox.repository().remote_set_url("origin", "/nowhere/at/all").unwrap();
        let (failed, _) = call(sandbox, "beads.sync", &["--apply"], &json!({"idempotency_key": "k2"}));
        assert_eq!(failed["ok"], false, "{failed}");
        sandbox.repository().remote_set_url("origin", remote.path().to_str().unwrap()).unwrap();
        let healed: Value = apply(sandbox, "beads.sync", &json!({"idempotency_key": "k2"}));
        assert!(healed["commit"].is_string(), "{healed}");
    }
}
