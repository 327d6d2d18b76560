use serde_json::json;

use crate::sandbox::{Sandbox, both};

#[test]
fn a_sound_store_has_no_findings() {
    both(|bd| {
        assert_eq!(bd.json(&["validate"]), json!([]));
        bd.create(&["x"]);
        bd.text(&["sync"]);
        assert_eq!(bd.json(&["validate"]), json!([]));
        assert_eq!(bd.text(&["validate"]), "");
    });
}

#[test]
fn an_edge_to_a_deleted_bead_is_reported_but_not_an_error() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        bd.json(&["dep", "add", &a, &b]);
        bd.json(&["delete", &b]);
        let findings = bd.json(&["validate"]);
        assert_eq!(findings.as_array().unwrap().len(), 1);
        assert_eq!(findings[0]["code"], "orphaned_dependency");
        assert_ne!(findings[0]["severity"], "error");
        assert_eq!(findings[0]["file"], "deps.jsonl");
        assert_eq!(findings[0]["id"], b);
        assert_eq!((&findings[0]["file"], &findings[0]["line"]), (&json!("deps.jsonl"), &json!(1)));
    });
}

/// Commits other files to the ref, as a buggy program might.
fn rewrite(bd: &Sandbox, change: impl Fn(&str, String) -> String) {
    let repository = bd.repository();
    let reference = repository.find_reference("refs/heads/beads/store").unwrap();
    let parent = reference.peel_to_commit().unwrap();
    let mut builder = repository.treebuilder(None).unwrap();
    for entry in &parent.tree().unwrap() {
        let name = entry.name().unwrap().to_owned();
        let blob = repository.find_blob(entry.id()).unwrap();
        let text = change(&name, String::from_utf8(blob.content().to_vec()).unwrap());
        builder.insert(&name, repository.blob(text.as_bytes()).unwrap(), 0o100_644).unwrap();
    }
    let tree = repository.find_tree(builder.write().unwrap()).unwrap();
    let author = parent.author();
    repository
        .commit(Some("refs/heads/beads/store"), &author, &author, "rewritten", &tree, &[&parent])
        .unwrap();
}

/// Returns the same snapshot without checksums, so that only the lines themselves are checked.
fn without_checksums(name: &str, text: String) -> String {
    if name != "meta.json" {
        return text;
    }
    let mut meta: serde_json::Value = serde_json::from_str(&text).unwrap();
    meta.as_object_mut().unwrap().remove("sha256");
    format!("{meta}\n")
}

#[test]
fn an_edge_to_an_unknown_bead_is_a_warning() {
    both(|bd| {
        let id = bd.create(&["a"]);
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        let edge = json!({
            "created_at": [1_700_000_000_000_u64, 0], "created_by": "ann", "from": id, "kind": "blocks", "to": "bd-nowhere",
        });
        rewrite(bd, |name, text| match name {
            "deps.jsonl" => format!("{edge}\n"),
            _ => without_checksums(name, text),
        });
        let findings = bd.json(&["validate"]);
        let codes: Vec<_> =
            findings.as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect();
        assert_eq!(
            codes,
            ["missing_checksum", "missing_checksum", "missing_checksum", "dangling_dependency"]
        );
        assert!(findings.as_array().unwrap().iter().all(|finding| finding["severity"] == "warning"));
        assert_eq!(findings[3]["id"], "bd-nowhere");
        assert_eq!(bd.ids(&["ready"]), [id], "a blocker that is missing does not block");
        assert_eq!(bd.json(&["blocked"]), json!([]));
    });
}

#[test]
fn cycles_created_by_a_merge_are_reported() {
    both(|bd| {
        for id in ["bd-1", "bd-2"] {
            bd.create(&["x", "--id", id]);
        }
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        rewrite(bd, |name, text| match name {
            "deps.jsonl" => {
                let back = text
                    .replace("\"from\":\"bd-1\"", "\"from\":\"bd-2\"")
                    .replace("\"to\":\"bd-2\"", "\"to\":\"bd-1\"");
                format!("{text}{back}")
            }
            _ => without_checksums(name, text),
        });
        assert_eq!(bd.json(&["dep", "cycles"]), json!([{"kind": "blocks", "ids": ["bd-1", "bd-2"]}]));
        let findings = bd.json(&["validate"]);
        assert!(findings.as_array().unwrap().iter().any(|finding| finding["code"] == "cycle"), "{findings}");
        assert_eq!(
            bd.json(&["dep", "tree", "bd-1"]).as_array().unwrap().len(),
            3,
            "a tree ends where it closes"
        );
    });
}

#[test]
fn damage_is_an_error_that_names_the_place_and_changes_nothing() {
    both(|bd| {
        bd.create(&["x", "--id", "bd-1"]);
        bd.create(&["y", "--id", "bd-2"]);
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        rewrite(bd, |name, text| match name {
            "state.jsonl" => text.replacen("\"priority\":2", "\"priority\":9", 2),
            _ => without_checksums(name, text),
        });
        let tip = || bd.repository().refname_to_id("refs/heads/beads/store").unwrap();
        let before = tip();
        let run = bd.run(&["validate", "--json"]);
        assert_eq!(run.exit, Some(1), "{run:?}");
        let finding = run.value()[0].clone();
        assert_eq!(
            (&finding["severity"], &finding["file"], &finding["line"]),
            (&json!("error"), &json!("state.jsonl"), &json!(1))
        );
        for args in [&["list"][..], &["create", "z"], &["show", "bd-1"]] {
            let error = bd.error(args, "corrupt_store");
            assert_eq!(error["details"]["file"], "state.jsonl", "{args:?}");
        }
        assert_eq!(tip(), before);
    });
}

#[test]
fn a_newer_format_is_refused() {
    both(|bd| {
        bd.create(&["x"]);
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        rewrite(bd, |name, text| match name {
            "meta.json" => text.replace("\"format_version\":1", "\"format_version\":99"),
            _ => text,
        });
        let error = bd.error(&["list"], "newer_format");
        assert!(error["message"].as_str().unwrap().contains("upgrade bd"));
        assert_eq!(bd.run(&["validate", "--json"]).exit, Some(1));
    });
}

#[test]
fn every_damaged_line_is_a_finding() {
    both(|bd| {
        for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
            bd.create(&["x", "--id", id]);
        }
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        rewrite(bd, |name, text| match name {
            "state.jsonl" => text.replacen("\"priority\":2", "\"priority\":9", 3),
            _ => without_checksums(name, text),
        });
        let run = bd.run(&["validate", "--json"]);
        assert_eq!(run.exit, Some(1), "{run:?}");
        let findings = run.value();
        let places: Vec<_> = findings.as_array().unwrap().iter().map(|one| one["line"].clone()).collect();
        assert_eq!(places, [1, 2, 3], "{findings}");
        for finding in findings.as_array().unwrap() {
            assert_eq!(
                (&finding["code"], &finding["file"], &finding["severity"]),
                (&json!("corrupt_store"), &json!("state.jsonl"), &json!("error")),
                "{finding}"
            );
        }
    });
}
