//! `beads.import` and `beads.export`: files through JSON tools.

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, both};
use crate::tool::{apply, chunks, done, refused};

const FILE: &str = r#"{"id":"bd-a1","title":"One","status":"open","priority":1,"issue_type":"task","created_at":"2025-11-02T21:58:07Z","updated_at":"2025-11-03T20:56:22Z"}
{"id":"bd-b2","title":"Two, \"quoted\"","status":"closed","priority":0,"issue_type":"bug","created_at":"2025-11-01T00:00:00Z","updated_at":"2025-11-03T00:00:00Z","closed_at":"2025-11-03T00:00:00Z","dependencies":[{"issue_id":"bd-b2","depends_on_id":"bd-a1","type":"blocks","created_at":"2025-11-02T22:23:49Z","created_by":"stevey"}]}
this line cannot be read
"#;

fn write(sandbox: &Sandbox, content: &str) {
    std::fs::write(sandbox.dir().join("issues.jsonl"), content).unwrap();
}

fn content(sandbox: &Sandbox, input: &Value) -> String {
    done(sandbox, "beads.export", &[], input)["result"]["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_is_previewed_first_and_imported_with_apply() {
    both(|sandbox| {
        write(sandbox, FILE);
        let input = json!({"path": "issues.jsonl"});
        let preview = done(sandbox, "beads.import", &[], &input);
        assert_eq!(preview["metadata"]["applied"], false, "{preview}");
        assert_eq!((&preview["result"]["created"], &preview["result"]["dry_run"]), (&json!(2), &json!(true)));
        assert!(sandbox.ids(&["list", "--all"]).is_empty());

        let summary = apply(sandbox, "beads.import", &input);
        assert_eq!(
            (&summary["created"], &summary["edges"], summary["skipped"].as_array().unwrap().len()),
            (&json!(2), &json!(1), 1),
            "{summary}"
        );
        assert_eq!(sandbox.show("bd-a1")["title"], "One");
        let before = content(sandbox, &json!({}));
        let again = apply(sandbox, "beads.import", &input);
        assert_eq!((&again["created"], &again["unchanged"]), (&json!(0), &json!(2)), "{again}");
        assert_eq!(content(sandbox, &json!({})), before);
    });
}

#[test]
fn only_files_can_be_imported() {
    let sandbox = Sandbox::new(Mode::Embedded);
    for path in ["no/such/file", "."] {
        refused(&sandbox, "beads.import", &["--apply"], &json!({"path": path}), "not_found", 1);
    }
    let missing = refused(&sandbox, "beads.import", &["--apply"], &json!({}), "missing_field", 2);
    assert_eq!(missing["field"], "path");
}

#[test]
fn deletions_beside_the_file_are_applied_and_the_export_is_exact() {
    let (here, there) = (Sandbox::new(Mode::Embedded), Sandbox::new(Mode::Embedded));
    write(&here, FILE);
    let deletion = r#"{"id":"bd-b2","ts":"2025-12-01T00:00:00Z","by":"stevey","reason":"not needed"}"#;
    std::fs::write(here.dir().join("deletions.jsonl"), deletion).unwrap();
    // The path is relative to `repo`, when there is one.
    let input = json!({"path": "issues.jsonl", "repo": here.dir()});
    assert_eq!(apply(&here, "beads.import", &input)["tombstones"], 1);
    assert_eq!(here.ids(&["list", "--all"]), ["bd-a1"]);

    let text = content(&here, &json!({}));
    assert_eq!(text.lines().count(), 2, "the deleted bead is in it: {text}");
    write(&there, &text);
    apply(&there, "beads.import", &json!({"path": "issues.jsonl"}));
    assert_eq!(content(&there, &json!({})), text);
}

#[test]
fn every_format_is_the_text_that_bd_writes() {
    both(|sandbox| {
        write(sandbox, FILE);
        apply(sandbox, "beads.import", &json!({"path": "issues.jsonl"}));
        for format in ["jsonl", "csv", "md", "dot", "mermaid"] {
            let result = done(sandbox, "beads.export", &[], &json!({"format": format}))["result"].clone();
            assert_eq!(
                (&result["format"], &result["beads"], result.get("path")),
                (&json!(format), &json!(2), None)
            );
            assert_eq!(result["content"], sandbox.text(&["export", "--format", format]), "{format}");
        }
        assert_eq!(content(sandbox, &json!({})), content(sandbox, &json!({"format": "jsonl"})));
        let wrong = refused(sandbox, "beads.export", &[], &json!({"format": "xml"}), "invalid_value", 2);
        assert_eq!(wrong["field"], "format");
    });
}

#[test]
fn a_streamed_text_comes_line_by_line() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let stream = |format: &str| chunks(&sandbox, "beads.export", &json!({"format": format, "stream": true}));
    let empty = stream("jsonl");
    assert_eq!((empty.len(), &empty[0]["data"], &empty[0]["final"]), (1, &json!([]), &json!(true)));
    let lines: String = (0..150)
        .map(|n| {
            format!(
                "{{\"id\":\"bd-x{n}\",\"title\":\"T {n}\",\"created_at\":\"2025-11-01T00:00:00Z\",\
                 \"updated_at\":\"2025-11-01T00:00:00Z\"}}\n"
            )
        })
        .collect();
    write(&sandbox, &lines);
    apply(&sandbox, "beads.import", &json!({"path": "issues.jsonl"}));
    for format in ["jsonl", "csv", "mermaid"] {
        let chunks = stream(format);
        assert_eq!(chunks.len(), 2, "{format}");
        assert_eq!((chunks[0].get("final"), &chunks[1]["final"]), (None, &json!(true)));
        let lines = chunks.iter().flat_map(|chunk| chunk["data"].as_array().unwrap());
        let text: String = lines.map(|line| format!("{}\n", line.as_str().unwrap())).collect();
        assert_eq!(text, content(&sandbox, &json!({"format": format})), "{format}");
    }
}
