//! The totals of an import, its report, the comparison with a file, and the discovery of files in a `.beads`
//! directory.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, both};

const LINES: &str = r#"{"id":"go-1","title":"One","status":"in_progress","assignee":"ann","created_at":"2025-12-20T10:00:00Z","updated_at":"2025-12-20T11:00:00Z","dependencies":[{"issue_id":"go-1","depends_on_id":"go-9","type":"blocks","created_at":"2025-12-20T10:00:00Z","created_by":"ann"}]}
{"id":"go-2","title":"Two","status":"in_progress","priority":1,"issue_type":"bug","created_at":"2025-12-20T10:00:00Z","updated_at":"2025-12-20T11:00:00Z"}
"#;

fn write(path: &Path, content: &str) -> String {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn set_age(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - seconds);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn without_a_file_the_directory_of_go_is_found_and_imported_only_with_yes() {
    both(|bd| {
        let file = write(&bd.dir().join(".beads/issues.jsonl"), LINES);
        write(
            &bd.dir().join(".beads/deletions.jsonl"),
            "{\"id\":\"go-3\",\"ts\":\"2025-12-21T10:00:00Z\",\"by\":\"a1\"}\n",
        );
        let text = bd.text(&["import"]);
        assert!(text.contains(&format!("found {file}")) && text.contains("with deletions.jsonl"), "{text}");
        assert!(text.contains("3 lines: 2 would be created") && text.contains("bd import --yes"), "{text}");
        assert_eq!(bd.json(&["list"]), json!([]));
        let imported = bd.run(&["import", "--yes", "--json"]);
        assert!(imported.stderr.contains("json.dialect is now compat"), "{imported:?}");
        let summary = imported.value();
        assert_eq!((&summary["created"], &summary["tombstones"]), (&json!(2), &json!(1)), "{summary}");
        assert_eq!(bd.ids(&["list"]).len(), 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), LINES, "the input is never changed");
        bd.json(&["import", "--verify", &file]);
    });
}

#[test]
fn without_anything_to_import_the_error_names_the_searched_paths() {
    let bd = Sandbox::new(Mode::Embedded);
    let error = bd.error(&["import"], "not_found");
    assert!(error["message"].as_str().unwrap().contains(".beads"), "{error}");
}

#[test]
fn a_store_that_is_only_in_dolt_asks_for_an_export_first() {
    let bd = Sandbox::new(Mode::Embedded);
    write(&bd.dir().join(".beads/embeddeddolt/beads/.dolt/noms/manifest"), "5:dolt");
    let error = bd.error(&["import"], "not_found");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("Dolt") && message.contains("bd export --all"), "{error}");
}

#[test]
fn a_file_older_than_the_dolt_data_is_imported_with_a_warning() {
    let bd = Sandbox::new(Mode::Embedded);
    let file = bd.dir().join(".beads/issues.jsonl");
    let data = bd.dir().join(".beads/dolt/beads/.dolt/noms/manifest");
    let name = write(&file, LINES);
    write(&data, "5:dolt");
    for (age, warnings) in [(60, 1), (0, 0)] {
        set_age(&file, age);
        set_age(&data, 30);
        for args in [&["import", "--dry-run"][..], &["import", &name, "--dry-run"]] {
            let summary = bd.json(args);
            assert_eq!(summary["warnings"].as_array().unwrap().len(), warnings, "{summary}");
        }
    }
}

#[test]
fn the_report_has_one_line_per_decision() {
    both(|bd| {
        let file = write(&bd.root().join("issues.jsonl"), &format!("{LINES}broken\n"));
        let report = bd.root().join("report.jsonl");
        let run = bd.run(&["import", &file, "--json", "--report", report.to_str().unwrap()]);
        assert_eq!(run.exit, Some(1), "a refused line is an error");
        let content = std::fs::read_to_string(&report).unwrap();
        let decisions: Vec<Value> = content.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |word: &str| decisions.iter().filter(|one| one["decision"] == word).collect::<Vec<_>>();
        assert_eq!((of("created").len(), of("refused").len()), (2, 1), "{content}");
        for word in ["leased", "stuck", "edge_skipped", "zero_priority"] {
            assert_eq!(of(word).len(), 1, "{word}: {content}");
        }
        assert_eq!(of("refused")[0]["line"], 3);
    });
}

#[test]
fn a_skipped_edge_is_reported_and_does_not_fail_the_import() {
    both(|bd| {
        let file = write(&bd.root().join("issues.jsonl"), LINES);
        let run = bd.run(&["import", &file]);
        assert_eq!(run.exit, Some(0), "{run:?}");
        assert!(run.stdout.contains("go-1 -> go-9 (blocks): no bead has that id"), "{run:?}");
        assert!(run.stdout.contains("0 refused") && run.stdout.contains("1 skipped"), "{run:?}");
    });
}

#[test]
fn imported_claims_get_a_lease_and_beads_without_a_holder_are_reported() {
    both(|bd| {
        let file = write(&bd.root().join("issues.jsonl"), LINES);
        let summary = bd.json(&["import", &file]);
        assert_eq!((&summary["leases"], &summary["stuck"]), (&json!(1), &json!(["go-2"])), "{summary}");
        let held = bd.show("go-1");
        assert_eq!((&held["assignee"], &held["status"]), (&json!("ann"), &json!("in_progress")));
        assert!(!held["assignee_expires"].is_null(), "{held}");
        let lease = held["assignee_expires"].clone();
        assert_eq!(bd.json(&["import", &file])["unchanged"], 2, "a lease is granted once");
        assert_eq!(bd.show("go-1")["assignee_expires"], lease);
        assert_eq!(bd.json(&["status"])["stuck"], json!(["go-2"]));
        assert!(bd.text(&["status"]).contains("bd update ID --status open"));
        let doctor = bd.json(&["doctor"]);
        let finding = &doctor["checks"][0]["findings"][0];
        assert_eq!((&finding["code"], &finding["id"]), (&json!("stuck"), &json!("go-2")), "{doctor}");
        bd.json(&["update", "go-2", "--status", "open"]);
        assert_eq!(bd.json(&["status"])["stuck"], json!([]));
        assert_eq!(bd.ids(&["ready"]), ["go-2"]);
    });
}

#[test]
fn a_comparison_names_what_differs_and_changes_nothing() {
    both(|bd| {
        let file = write(&bd.root().join("issues.jsonl"), LINES);
        bd.json(&["import", &file]);
        let same = bd.json(&["import", "--verify", &file]);
        assert_eq!((&same["equal"], &same["differences"]), (&json!(2), &json!([])), "{same}");
        bd.create(&["Here", "--id", "go-5"]);
        bd.json(&["update", "go-2", "--title", "Changed", "-p", "3"]);
        let missing = r#"{"id":"go-7","title":"Missing","created_at":"2025-12-20T10:00:00Z","updated_at":"2025-12-20T11:00:00Z"}"#;
        let file = write(&bd.root().join("issues.jsonl"), &format!("{LINES}{missing}\n"));
        let run = bd.run(&["import", "--verify", &file, "--json"]);
        assert_eq!(run.exit, Some(1), "{run:?}");
        let answer = run.value();
        let fields: Vec<_> =
            answer["differences"].as_array().unwrap().iter().map(|one| (&one["id"], &one["field"])).collect();
        let (two, seven) = (json!("go-2"), json!("go-7"));
        assert_eq!(
            fields,
            [(&two, &json!("priority")), (&two, &json!("title")), (&seven, &Value::Null)],
            "{answer}"
        );
        assert_eq!(answer["only_here"], json!(["go-5"]));
        assert!(
            bd.run(&["import", "--verify", &file])
                .stdout
                .contains(r#"title: "Two" in the file, "Changed" here"#)
        );
        bd.error(&["show", "go-7"], "not_found");
    });
}

#[test]
fn our_own_export_always_compares_equal() {
    both(|bd| {
        let a = bd.create(&["One", "--notes", "text", "-p", "0"]);
        let b = bd.create(&["Two", "--deps", &a]);
        bd.json(&["claim", &a]);
        bd.json(&["close", &b, "--reason", "done"]);
        let path = bd.root().join("export.jsonl");
        bd.json(&["export", "-o", path.to_str().unwrap()]);
        let answer = bd.json(&["import", "--verify", path.to_str().unwrap()]);
        assert_eq!((&answer["equal"], &answer["differences"]), (&json!(2), &json!([])), "{answer}");
    });
}
