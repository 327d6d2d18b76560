use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both};

const OLD: &str = r#"{"id":"bd-a1","title":"One","description":"","status":"closed","priority":1,"issue_type":"task","created_at":"2025-11-02T21:58:07.295058-08:00","updated_at":"2025-11-03T20:56:22.700641-08:00","closed_at":"2025-11-03T20:56:22.700641-08:00","dependencies":[{"issue_id":"bd-a1","depends_on_id":"other_app-2.1","type":"parent-child","created_at":"2025-11-02T22:23:49.475356-08:00","created_by":"stevey"}]}
{"id":"other_app-2.1","title":"Two","status":"in_progress","priority":0,"issue_type":"task","created_at":"2025-11-01T00:00:00Z","updated_at":"2025-11-03T00:00:00Z","comments":[{"id":1,"issue_id":"other_app-2.1","author":"stevey","text":"hello","created_at":"2025-12-14T22:49:04Z"}]}
"#;

fn write(bd: &Sandbox, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = bd.root().join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn fingerprint(bd: &Sandbox) -> Value {
    bd.json(&["verify"])["fingerprint"].clone()
}

#[test]
fn a_file_is_imported_once_and_stays_unchanged() {
    both(|bd| {
        let file = write(bd, "issues.jsonl", OLD);
        let dry = bd.json(&["import", &file, "--dry-run"]);
        assert_eq!((&dry["created"], &dry["dry_run"]), (&json!(2), &json!(true)));
        assert_eq!(bd.json(&["list"]), json!([]));
        let summary = bd.json(&["import", &file]);
        for (name, value) in [
            ("lines", 2),
            ("created", 2),
            ("updated", 0),
            ("unchanged", 0),
            ("tombstones", 0),
            ("edges", 1),
            ("notes", 1),
        ] {
            assert_eq!(summary[name], value, "{name}: {summary}");
        }
        assert_eq!(summary["skipped"], json!([]));
        let before = fingerprint(bd);
        let again = bd.json(&["import", &file]);
        assert_eq!((&again["unchanged"], &again["created"]), (&json!(2), &json!(0)));
        assert_eq!(fingerprint(bd), before);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), OLD, "the input is never touched");
        let bead = bd.show("other_app-2.1");
        assert_eq!((&bead["status"], &bead["created_by"]), (&json!("in_progress"), &json!("import")));
        assert_eq!(bd.show("bd-a1")["parent"], "other_app-2.1");
    });
}

#[test]
fn two_replicas_that_import_the_same_file_are_equal() {
    let fingerprints: Vec<_> = ["ann@here", "bob@there"]
        .iter()
        .map(|actor| {
            let bd = Sandbox::new(Mode::Embedded);
            bd.json_as(actor, &["import", &write(&bd, "issues.jsonl", OLD)]);
            fingerprint(&bd)
        })
        .collect();
    assert_eq!(fingerprints[0], fingerprints[1]);
}

#[test]
fn standard_input_works_with_the_daemon_too() {
    both(|bd| {
        let run = bd.run_with_input(&["import", "-", "--json"], OLD.as_bytes()).succeeded("import -");
        assert_eq!(run.value()["created"], 2);
        let twice = format!("{OLD}not json\n");
        let run = bd.run_with_input(&["import", "-", "--json"], twice.as_bytes());
        assert_eq!(run.exit, Some(1));
        assert_eq!(run.value()["skipped"][0]["line"], 3);
    });
}

#[test]
fn a_refused_line_is_reported_and_the_rest_imported() {
    both(|bd| {
        let file = write(bd, "issues.jsonl", format!("<<<<<<< HEAD\n{OLD}"));
        let run: Run = bd.run(&["import", &file]);
        assert_eq!(run.exit, Some(1));
        run.assert_one_error_line();
        assert!(run.stdout.contains("skipped issues.jsonl:1: a conflict marker"), "{run:?}");
        assert_eq!(bd.ids(&["list"]).len(), 2);
        bd.error(&["import", "no/such/file"], "io_error");
    });
}

#[test]
fn a_line_of_many_megabytes_is_read_and_a_bead_past_the_bound_reported() {
    both(|bd| {
        // Escapes make a line longer than the bead in it.
        let big = format!(r#"{{"id":"bd-big","title":"Big","description":"{}"}}"#, "\\u0061".repeat(3 << 20));
        let huge = format!(r#"{{"id":"bd-huge","title":"Huge","description":"{}"}}"#, "a".repeat(9 << 20));
        let file = write(bd, "issues.jsonl", format!("{big}\n{huge}\n{OLD}"));
        let run = bd.run(&["import", &file, "--json"]);
        assert_eq!(run.exit, Some(1), "{}", run.stderr);
        let summary = run.value();
        assert_eq!((&summary["created"], &summary["skipped"][0]["id"]), (&json!(3), &json!("bd-huge")));
        assert_eq!(bd.show("bd-big")["description"].as_str().unwrap().len(), 3 << 20);
    });
}

#[test]
fn a_line_longer_than_the_limit_is_skipped() {
    let bd = Sandbox::new(Mode::Embedded);
    let mut content = vec![b' '; 65 << 20];
    content.extend_from_slice(b"\n");
    content.extend_from_slice(OLD.as_bytes());
    let run = bd.run(&["import", &write(&bd, "issues.jsonl", content), "--json"]);
    let summary = run.value();
    assert_eq!((&summary["skipped"][0]["line"], &summary["created"]), (&json!(1), &json!(2)));
}

#[test]
fn deletions_beside_the_file_are_imported() {
    both(|bd| {
        write(
            bd,
            "deletions.jsonl",
            "{\"id\":\"bd-a1\",\"ts\":\"2026-01-01T00:00:00Z\",\"by\":\"stevey\",\"reason\":\"old\"}\n",
        );
        let summary = bd.json(&["import", &write(bd, "issues.jsonl", OLD)]);
        assert_eq!((&summary["tombstones"], &summary["created"]), (&json!(1), &json!(1)), "{summary}");
        bd.error(&["show", "bd-a1"], "deleted");
    });
}

#[test]
fn a_legacy_store_is_imported_from_a_directory_or_a_branch() {
    let state = r#"{"id":"bd-a1","created_at":[1765400000000,0],"created_by":"darin@dusk","title":"A","description":"","priority":1,"type":"task","labels":["x"],"status":"open","_at":[1765400000000,0],"_by":"darin@dusk"}
{"id":"bd-b2","created_at":[1765400000000,0],"created_by":"darin@dusk","title":"B","description":"","priority":1,"type":"task","labels":{"entries":{"y":[{"replica":"0","counter":1}]}},"status":"open","_at":[1765400000000,0],"_by":"darin@dusk"}
"#;
    let deps = "{\"from\":\"bd-a1\",\"to\":\"bd-b2\",\"kind\":\"blocks\"}\n";
    both(|bd| {
        let directory = bd.root().join("old-store");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("state.jsonl"), state).unwrap();
        std::fs::write(directory.join("deps.jsonl"), deps).unwrap();
        let summary =
            bd.json(&["import", "--from", "legacy-store", directory.to_str().unwrap(), "--dry-run"]);
        assert_eq!((&summary["created"], &summary["edges"]), (&json!(2), &json!(1)));
        let repository = bd.repository();
        let mut tree = repository.treebuilder(None).unwrap();
        for (name, content) in [("state.jsonl", state), ("deps.jsonl", deps)] {
            tree.insert(name, repository.blob(content.as_bytes()).unwrap(), 0o100_644).unwrap();
        }
        let tree = repository.find_tree(tree.write().unwrap()).unwrap();
        let author = git2::Signature::new("ann", "ann@here", &git2::Time::new(1_700_000_000, 0)).unwrap();
        repository.commit(Some("refs/heads/beads/old"), &author, &author, "old", &tree, &[]).unwrap();
        let summary = bd.json(&["import", "--from", "legacy-store", "beads/old"]);
        assert_eq!((&summary["created"], &summary["edges"]), (&json!(2), &json!(1)));
        assert_eq!(bd.show("bd-b2")["labels"], json!(["y"]));
        bd.error(&["import", "--from", "legacy-store", "no/such/branch"], "not_found");
    });
}

#[test]
fn an_import_creates_a_private_store_and_survives_a_crash() {
    let bd = Sandbox::without_repository(Mode::Daemon);
    bd.json(&["import", &write(&bd, "issues.jsonl", OLD)]);
    crate::sandbox::kill(bd.daemon_pid().unwrap());
    assert_eq!(bd.ids(&["list"]).len(), 2);
}

#[test]
fn real_files_are_imported_completely_and_survive_a_round_trip() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for name in ["issues-v0.30.jsonl", "issues-v0.44.jsonl"] {
        let Ok(content) = std::fs::read(data.join(name)) else {
            println!("skipped: ../shared/data/{name} is not here");
            continue;
        };
        let bd = Sandbox::new(Mode::Daemon);
        // A custom status or type in the file raises the format, which is reported on standard error.
        let summary = bd.run(&["import", &write(&bd, name, &content), "--json"]).value();
        assert_eq!(
            summary["lines"],
            content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
        );
        assert_eq!(summary["skipped"], json!([]));
        let first = bd.text(&["export"]);
        let other = Sandbox::new(Mode::Embedded);
        assert_eq!(other.run(&["import", &write(&other, name, &first)]).exit, Some(0));
        assert_eq!(other.text(&["export"]), first, "{name}");
        assert_eq!(fingerprint(&other), fingerprint(&bd), "{name}");
    }
}

#[test]
fn a_checkpoint_of_a_legacy_store_is_imported_from_its_ref() {
    let state = r#"{"id":"bd-a1","created_at":[1765400000000,0],"created_by":"ann","title":"A","description":"","priority":1,"type":"task","labels":[],"status":"open","_at":[1765400000000,0],"_by":"ann"}"#;
    let bd = Sandbox::new(Mode::Embedded);
    let repository = bd.repository();
    let mut tree = None;
    for (name, is_file) in [("0a.jsonl", true), ("state", false), ("core", false), ("namespaces", false)] {
        let mut builder = repository.treebuilder(None).unwrap();
        match tree {
            Some(inner) => builder.insert(name, inner, 0o040_000).unwrap(),
            None => builder.insert(name, repository.blob(state.as_bytes()).unwrap(), 0o100_644).unwrap(),
        };
        assert_eq!(is_file, tree.is_none());
        tree = Some(builder.write().unwrap());
    }
    let tree = repository.find_tree(tree.unwrap()).unwrap();
    let author = git2::Signature::new("ann", "ann@here", &git2::Time::new(1_700_000_000, 0)).unwrap();
    let reference = "refs/beads/550e8400-e29b-41d4-a716-446655440000/core";
    repository.commit(Some(reference), &author, &author, "checkpoint", &tree, &[]).unwrap();
    let summary = bd.json(&["import", "--from", "legacy-store", reference]);
    assert_eq!(summary["created"], 1, "{summary}");
    assert_eq!(bd.show("bd-a1")["title"], "A");
    let error = bd.error(&["import", "--from", "legacy-store", "main"], "not_found");
    assert!(error["message"].as_str().unwrap().contains("not a legacy store"), "{error}");
}
