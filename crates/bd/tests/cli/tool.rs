//! JSON tools as other programs use them: JSON on standard input, one JSON document on standard output.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both};

fn run(sandbox: &Sandbox, name: &str, flags: &[&str], input: &[u8]) -> Run {
    sandbox.run_with_input(&[&["tool", name], flags].concat(), input)
}

/// Makes a call that must print one document; returns it with the exit code.
pub fn call(sandbox: &Sandbox, name: &str, flags: &[&str], input: &Value) -> (Value, i32) {
    let run = run(sandbox, name, flags, input.to_string().as_bytes());
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    (run.value(), run.exit.unwrap())
}

/// Returns the result of a call that must succeed.
pub fn done(sandbox: &Sandbox, name: &str, flags: &[&str], input: &Value) -> Value {
    let (document, exit) = call(sandbox, name, flags, input);
    assert!(exit == 0 && document["ok"] == true, "{name} {input}: {document}");
    for key in ["result", "metadata", "timestamp", "version"] {
        assert!(document.get(key).is_some(), "{key} is missing: {document}");
    }
    document
}

pub fn apply(sandbox: &Sandbox, name: &str, input: &Value) -> Value {
    let document = done(sandbox, name, &["--apply"], input);
    assert_eq!(document["metadata"]["applied"], true, "{document}");
    document["result"].clone()
}

pub fn refused(
    sandbox: &Sandbox,
    name: &str,
    flags: &[&str],
    input: &Value,
    error: &str,
    exit: i32,
) -> Value {
    let (document, code) = call(sandbox, name, flags, input);
    assert_eq!(
        (document["ok"].as_bool(), document["error"].as_str()),
        (Some(false), Some(error)),
        "{document}"
    );
    assert_eq!(code, exit, "{document}");
    assert!(
        !document["message"].as_str().unwrap().is_empty() && document["details"].is_object(),
        "{document}"
    );
    document
}

/// Returns the lines of a call that must succeed and answers in chunks.
pub fn chunks(sandbox: &Sandbox, name: &str, input: &Value) -> Vec<Value> {
    let run = run(sandbox, name, &[], input.to_string().as_bytes());
    assert_eq!(run.exit, Some(0), "{run:?}");
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn table(sandbox: &Sandbox) -> Vec<Value> {
    let list: Value = serde_json::from_str(&sandbox.text(&["tool"])).unwrap();
    assert_eq!(list["ok"], true);
    list["result"].as_array().unwrap().clone()
}

#[test]
fn every_tool_keeps_the_contract() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let tools = table(&sandbox);
    for name in
        "create update show list search ready claim close reopen delete restore dep_add dep_remove dep_tree \
                 note_add sync validate import export conflicts"
            .split_whitespace()
            .map(|name| format!("beads.{name}"))
            .chain(
                "register list show send inbox read ack reserve release status guard"
                    .split_whitespace()
                    .map(|name| format!("agent.{name}")),
            )
    {
        assert!(tools.iter().any(|tool| tool["name"] == name.as_str()), "{name} is missing");
    }
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            tool["mutates"].is_boolean() && tool["summary"].as_str().is_some_and(|text| !text.is_empty())
        );
        // The checks of the contract, including that there is exactly one document.
        let help = run(&sandbox, name, &["--help"], b"");
        assert!(help.exit == Some(0) && help.stdout.contains("Example:"), "{help:?}");
        let schema = run(&sandbox, name, &["--schema"], b"");
        assert_eq!(schema.exit, Some(0));
        let schema = schema.value();
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#", "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        let not_json = run(&sandbox, name, &[], b"invalid\n");
        assert_eq!((not_json.exit, &not_json.value()["error"]), (Some(2), &json!("invalid_json")), "{name}");
        let (empty, exit) = call(&sandbox, name, &[], &json!({}));
        let required = schema["required"].as_array().is_some_and(|required| !required.is_empty());
        match required {
            true => assert_eq!((exit, &empty["error"]), (2, &json!("missing_field")), "{name}: {empty}"),
            false => assert!(empty["ok"] == true || exit == 1, "{name}: {empty}"),
        }
        // Our own checks.
        for output in ["output", "batch"] {
            let schema = run(&sandbox, name, &[&format!("--schema={output}")], b"");
            assert!(schema.exit == Some(0) && schema.value().is_object(), "{name}: {schema:?}");
        }
        let version = run(&sandbox, name, &["--version"], b"");
        assert!(version.exit == Some(0) && version.stdout.starts_with(name), "{version:?}");
    }
}

#[test]
fn help_schema_and_version_need_neither_input_nor_store() {
    let sandbox = Sandbox::without_repository(Mode::Embedded);
    for flag in ["--help", "--schema", "--schema=output", "--version"] {
        // Standard input stays open: a tool that read it would wait forever.
        let mut child =
            sandbox.command(&["tool", "beads.create", flag]).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let run = Run::finish(child);
        drop(stdin);
        assert!(run.exit == Some(0) && !run.stdout.is_empty(), "{flag}: {run:?}");
    }
    assert!(std::fs::read_dir(sandbox.dir()).unwrap().next().is_none(), "something was made");
}

#[test]
fn input_that_is_not_one_object_is_a_clear_error() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bomb = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let deep = format!("{{\"title\":\"x\",\"metadata\":{}1{}}}", "{\"a\":".repeat(500), "}".repeat(500));
    let large = format!("{{\"title\":\"x\",\"description\":\"{}\"}}", "a".repeat(16 * 1024 * 1024));
    let cases: [(&str, &[u8], &str); 10] = [
        ("nothing", b"", "invalid_json"),
        ("blanks", b" \n\t ", "invalid_json"),
        ("an array", b"[]", "invalid_type"),
        ("a string", b"\"x\"", "invalid_type"),
        ("two documents", b"{\"title\":\"a\"}{\"title\":\"b\"}", "invalid_json"),
        ("half a document", b"{\"title\":", "invalid_json"),
        ("no UTF-8", b"{\"title\":\"\xff\"}", "invalid_json"),
        ("a depth bomb", &bomb, "invalid_json"),
        ("deep metadata", deep.as_bytes(), "invalid_json"),
        ("too much", large.as_bytes(), "invalid_value"),
    ];
    for (what, input, error) in cases {
        let run = run(&sandbox, "beads.create", &["--apply"], input);
        let document = run.value();
        assert_eq!((run.exit, document["ok"].as_bool()), (Some(2), Some(false)), "{what}: {run:?}");
        assert_eq!(document["error"], error, "{what}: {document}");
    }
    assert!(sandbox.ids(&["list"]).is_empty());
}

#[test]
fn a_wrong_field_is_named() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let refused = |flags: &[&str], input: Value, error: &str| {
        refused(&sandbox, "beads.create", flags, &input, error, 2)
    };
    assert_eq!(refused(&[], json!({}), "missing_field")["field"], "title");
    let wrong = refused(&[], json!({"title": "x", "priority": "high"}), "invalid_type");
    assert_eq!((&wrong["field"], &wrong["expected"]), (&json!("priority"), &json!("integer")));
    assert_eq!(refused(&[], json!({"title": "x", "priority": 7}), "invalid_value")["field"], "priority");
    assert_eq!(
        refused(&[], json!({"title": "x", "labels": ["a", "b,c"]}), "invalid_value")["field"],
        "labels.1"
    );
    assert_eq!(refused(&[], json!({"title": "x", "colour": "red"}), "invalid_value")["field"], "colour");
    assert_eq!(refused(&["--force"], json!({"title": "x"}), "invalid_value")["field"], "--force");
    assert_eq!(refused(&["--schema=other"], json!({"title": "x"}), "invalid_value")["field"], "--schema");
    let unknown = call(&sandbox, "beads.paint", &[], &json!({}));
    assert_eq!(
        (&unknown.0["error"], &unknown.0["field"], unknown.1),
        (&json!("invalid_value"), &json!("tool"), 2)
    );
}

#[test]
fn nothing_changes_without_apply_and_the_checks_are_the_same() {
    both(|sandbox| {
        let input = json!({"title": "Write it", "labels": ["b", "a"]});
        for flags in [&[][..], &["--dry-run"], &["--apply", "--dry-run"], &["--dry-run", "--apply"]] {
            let preview = done(sandbox, "beads.create", flags, &input);
            assert_eq!(
                (&preview["metadata"]["applied"], &preview["result"]["title"]),
                (&json!(false), &json!("Write it"))
            );
        }
        assert!(sandbox.ids(&["list"]).is_empty());

        let bead = apply(sandbox, "beads.create", &input);
        let id = bead["id"].as_str().unwrap();
        assert_eq!(bead["labels"], json!(["a", "b"]));
        let before = sandbox.everything();
        for (name, input) in [
            ("beads.update", json!({"id": id, "title": "Other", "assignee": "bob"})),
            ("beads.claim", json!({"id": id})),
            ("beads.claim", json!({})),
            ("beads.close", json!({"id": id, "reason": "done"})),
            ("beads.delete", json!({"id": id})),
            ("beads.note_add", json!({"id": id, "content": "hm"})),
            ("beads.sync", json!({})),
        ] {
            let preview = done(sandbox, name, &[], &input);
            assert_eq!(preview["metadata"]["applied"], false, "{name}: {preview}");
        }
        assert_eq!(sandbox.everything(), before);
        for flags in [&[][..], &["--apply"]] {
            refused(sandbox, "beads.close", flags, &json!({"id": "bd-nope"}), "not_found", 1);
            let stale = json!({"id": id, "expected_content_hash": "0"});
            refused(sandbox, "beads.update", flags, &stale, "conflict", 1);
        }
    });
}

#[test]
fn the_life_of_a_bead() {
    both(|sandbox| {
        let id = |bead: &Value| bead["id"].as_str().unwrap().to_owned();
        let first = id(&apply(
            sandbox,
            "beads.create",
            &json!({"title": "First", "priority": 0, "due_at": "2027-01-02T03:04:05Z"}),
        ));
        let second = id(&apply(sandbox, "beads.create", &json!({"title": "Second", "deps": [first]})));
        let edge = apply(sandbox, "beads.dep_add", &json!({"from": second, "to": first, "kind": "related"}));
        assert_eq!(edge["kind"], "related");
        let tree = done(sandbox, "beads.dep_tree", &[], &json!({"id": second}));
        assert_eq!(tree["result"][1]["id"], first.as_str(), "{tree}");
        apply(sandbox, "beads.dep_remove", &json!({"from": second, "to": first, "kind": "related"}));

        let ready = done(sandbox, "beads.ready", &[], &json!({"limit": 5}));
        assert_eq!(crate::sandbox::ids_of(&ready["result"]), [first.as_str()]);
        let claimed = apply(sandbox, "beads.claim", &json!({"next": {"priority_max": 0}, "actor": "cleo"}));
        assert_eq!((&claimed["id"], &claimed["assignee"]), (&json!(first), &json!("cleo")));
        let held = refused(sandbox, "beads.claim", &["--apply"], &json!({"id": first}), "conflict", 1);
        assert_eq!(
            (&held["details"]["code"], &held["details"]["holder"]),
            (&json!("already_claimed"), &json!("cleo"))
        );
        refused(sandbox, "beads.claim", &["--apply"], &json!({"next": {"labels": ["none"]}}), "not_found", 1);

        apply(
            sandbox,
            "beads.note_add",
            &json!({"id": first, "content": "Half done.", "actor": "cleo", "fence": claimed["fence"]}),
        );
        let shown = done(sandbox, "beads.show", &[], &json!({"id": first}))["result"].clone();
        assert_eq!(
            (&shown["notes"][0]["content"], &shown["due_at"]),
            (&json!("Half done."), &json!("2027-01-02T03:04:05.000Z"))
        );
        let closed = apply(sandbox, "beads.close", &json!({"id": first, "reason": "fixed", "actor": "cleo"}));
        assert_eq!((&closed["status"], &closed["closed_reason"]), (&json!("closed"), &json!("fixed")));
        assert_eq!(apply(sandbox, "beads.reopen", &json!({"id": first}))["status"], "open");
        let updated = apply(
            sandbox,
            "beads.update",
            &json!({"id": first, "due_at": null, "add_labels": ["x"], "priority": 3.0}),
        );
        assert_eq!(
            (&updated["due_at"], &updated["labels"], &updated["priority"]),
            (&json!(null), &json!(["x"]), &json!(3))
        );
        apply(sandbox, "beads.delete", &json!({"id": first, "reason": "duplicate"}));
        refused(sandbox, "beads.show", &[], &json!({"id": first}), "not_found", 1);
        apply(sandbox, "beads.restore", &json!({"id": first}));
        let found = done(sandbox, "beads.search", &[], &json!({"query": "half DONE"}));
        assert_eq!(crate::sandbox::ids_of(&found["result"]), [first.as_str()]);
        assert_eq!(done(sandbox, "beads.validate", &[], &json!({}))["metadata"]["valid"], true);
        assert_eq!(done(sandbox, "beads.conflicts", &[], &json!({}))["result"], json!([]));
        assert!(apply(sandbox, "beads.sync", &json!({}))["commit"].is_string());
        let missing =
            refused(sandbox, "beads.conflicts", &[], &json!({"resolve": "dismiss"}), "missing_field", 2);
        assert_eq!(missing["field"], "id");
    });
}

#[test]
fn a_batch_answers_for_each_item() {
    both(|sandbox| {
        let batch = |items: Value, more: Value| {
            let mut input = json!({"batch": true, "items": items});
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            input
        };
        let made = batch(json!([{"title": "A"}, {"title": "B"}]), json!({"actor": "bob"}));
        let (preview, exit) = call(sandbox, "beads.create", &[], &made);
        assert_eq!((exit, &preview["metadata"]["applied"]), (0, &json!(false)), "{preview}");
        let (document, exit) = call(sandbox, "beads.create", &["--apply"], &made);
        assert_eq!(
            (exit, &document["ok"], &document["batch"]),
            (0, &json!(true), &json!(true)),
            "{document}"
        );
        let id = |index: usize| document["results"][index]["result"]["id"].clone();
        assert_eq!(document["results"][1]["result"]["created_by"], "bob");

        let closing = batch(json!([{"id": id(0)}, {"id": "bd-nope"}, {"id": 3}, {"id": id(1)}]), json!({}));
        let (some, exit) = call(sandbox, "beads.close", &["--apply"], &closing);
        let oks: Vec<_> = some["results"].as_array().unwrap().iter().map(|item| item["ok"] == true).collect();
        assert_eq!((exit, oks, &some["ok"]), (1, vec![true, false, false, true], &json!(false)), "{some}");
        assert_eq!(
            (&some["results"][1]["error"], &some["results"][2]["error"]),
            (&json!("not_found"), &json!("invalid_type"))
        );

        // All or none.
        let before = sandbox.everything();
        let half = batch(json!([{"id": id(0)}, {"id": "bd-nope"}]), json!({"atomic": true}));
        let none = refused(sandbox, "beads.reopen", &["--apply"], &half, "not_found", 1);
        assert_eq!(none["details"]["index"], 1);
        assert_eq!(sandbox.everything(), before);
        let all = batch(json!([{"id": id(0)}, {"id": id(1)}]), json!({"atomic": true}));
        assert_eq!(call(sandbox, "beads.reopen", &[], &all).0["results"][1]["result"]["status"], "open");
        assert_eq!(sandbox.everything(), before);
        assert_eq!(call(sandbox, "beads.reopen", &["--apply"], &all).1, 0);
        assert_eq!(sandbox.ids(&["list", "--status", "open"]).len(), 2);

        // Queries can be batched too.
        let shown =
            call(sandbox, "beads.show", &[], &batch(json!([{"id": id(1)}, {"id": id(0)}]), json!({}))).0;
        assert_eq!(
            (&shown["results"][0]["result"]["id"], &shown["results"][1]["result"]["id"]),
            (&id(1), &id(0))
        );
        refused(sandbox, "beads.show", &[], &json!({"batch": true}), "missing_field", 2);
        refused(sandbox, "beads.show", &[], &json!({"batch": true, "items": 1}), "invalid_type", 2);
        let nested = batch(json!([{"batch": true, "items": []}]), json!({}));
        assert_eq!(call(sandbox, "beads.show", &[], &nested).0["results"][0]["error"], "missing_field");
    });
}

#[test]
fn a_stream_comes_in_chunks() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let empty = chunks(&sandbox, "beads.list", &json!({"stream": true}));
    assert_eq!((empty.len(), &empty[0]["data"], &empty[0]["final"]), (1, &json!([]), &json!(true)));
    let items: Vec<Value> = (0..250).map(|n| json!({"title": format!("Bead {n}")})).collect();
    assert_eq!(call(&sandbox, "beads.create", &["--apply"], &json!({"batch": true, "items": items})).1, 0);
    let chunks = chunks(&sandbox, "beads.list", &json!({"stream": true}));
    assert_eq!(chunks.len(), 3);
    assert!(
        chunks
            .iter()
            .enumerate()
            .all(|(index, chunk)| chunk["chunk"] == index + 1 && chunk["stream"] == true)
    );
    let sizes: Vec<_> = chunks.iter().map(|chunk| chunk["data"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
    assert_eq!((chunks[1].get("final"), chunks[2].get("final")), (None, Some(&json!(true))));
}

#[test]
fn messages_beside_the_answer_go_to_stderr() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let traced = run(&sandbox, "beads.sync", &["--apply", "--trace", "--verbose"], b"{}");
    assert_eq!(traced.value()["ok"], true);
    for line in ["PROGRESS: 0%", "PROGRESS: 100%", "TRACE: ", "beads.sync as ann@here"] {
        assert!(traced.stderr.contains(line), "{line}: {traced:?}");
    }
    assert!(run(&sandbox, "beads.list", &[], b"{}").stderr.is_empty());
}

#[test]
fn the_repository_is_where_the_input_says() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let elsewhere = sandbox.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    crate::sandbox::commit_something(&elsewhere);
    let bead = apply(&sandbox, "beads.create", &json!({"title": "There", "repo": elsewhere}));
    assert!(sandbox.ids(&["list"]).is_empty());
    assert_eq!(sandbox.ids(&["-C", elsewhere.to_str().unwrap(), "list"]), [bead["id"].as_str().unwrap()]);
    refused(&sandbox, "beads.list", &[], &json!({"repo": "no/such/place"}), "not_found", 1);
}

/// `echo '{"title":"x"}' | beads.create --apply | jq '{id:.result.id}' | beads.show`, with the test in place
/// of jq.
#[test]
fn links_are_the_tools_they_are_named_after() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bin = sandbox.root().join("tools");
    let install = |more: &[&str]| {
        let args = [&["tool", "install", "--dir", bin.to_str().unwrap()], more].concat();
        sandbox.run(&[&args[..], &["--json"]].concat())
    };
    let planned = install(&["--dry-run", "--all"]).value();
    assert!(
        planned["links"].as_array().unwrap().iter().all(|link| link["action"] == "created") && !bin.exists()
    );
    let beads = install(&[]).value();
    assert!(
        beads["links"]
            .as_array()
            .unwrap()
            .iter()
            .all(|link| link["tool"].as_str().unwrap().starts_with("beads."))
    );
    let all = install(&["--all", "--prefix", "my-"]).value();
    assert_eq!(all["links"].as_array().unwrap().len(), table(&sandbox).len());
    assert!(
        install(&[]).value()["links"].as_array().unwrap().iter().all(|link| link["action"] == "unchanged")
    );

    let linked = |name: &str, flags: &[&str], input: &Value| -> Value {
        let base = sandbox.command::<&str>(&[]);
        let mut command = Command::new(bin.join(name));
        command.args(flags).current_dir(sandbox.dir()).env_clear();
        for (key, value) in base.get_envs() {
            command.env(key, value.unwrap());
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        Run::finish(child).value()
    };
    let made = linked("beads.create", &["--apply"], &json!({"title": "x"}));
    let shown = linked("my-beads.show", &[], &json!({"id": made["result"]["id"]}));
    assert_eq!(shown["result"]["title"], "x");

    // Files of others are left unchanged.
    std::fs::remove_file(bin.join("beads.list")).unwrap();
    std::fs::write(bin.join("beads.list"), "mine").unwrap();
    let refused = install(&[]);
    assert_eq!(refused.exit, Some(1), "{refused:?}");
    assert_eq!(std::fs::read_to_string(bin.join("beads.list")).unwrap(), "mine");
    let names = sandbox.text(&["tool", "install", "--list", "--group", "agent"]);
    assert!(names.lines().count() > 5 && names.lines().all(|line| line.starts_with("agent.")), "{names}");
}
