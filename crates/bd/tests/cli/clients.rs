//! The calls of programs written for the Go `bd`, exactly as they make them, in both dialects. Exit code,
//! shape and nulls are checked, and each output against its schema in `docs/schema/`.

use std::collections::BTreeMap;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, commit_something};

/// A call, and its name in `docs/schema/index.json`. `$FILE` is the absolute path of a text file of 100,000
/// bytes.
const CALLS: &[(&[&str], &str)] = &[
    (&["config", "set", "issue_prefix", "bd", "--json"], "config set"),
    (&["create", "--json", "Epic", "--type", "epic", "--id", "bd-e"], "create"),
    (
        &[
            "create",
            "--json",
            "First",
            "--description",
            "D",
            "--parent",
            "bd-e",
            "--type",
            "bug",
            "-p2",
            "--design",
            "X",
            "--acceptance",
            "Y",
            "--notes",
            "N",
        ],
        "create",
    ),
    (
        &["create", "--json", "Second", "--parent", "bd-e", "--deps", "bd-e.1", "-d", "D", "-t", "task"],
        "create",
    ),
    (
        &[
            "create",
            "Third",
            "--json",
            "-a",
            "ann",
            "-l",
            "a,b",
            "--id",
            "bd-3",
            "--external-ref",
            "gh-1",
            "--estimate",
            "30",
            "--due",
            "2030-01-01",
            "--defer",
            "+2d",
            "--metadata",
            r#"{"k":[1]}"#,
        ],
        "create",
    ),
    (&["create", "Labelled", "--labels", "x", "--set-labels", "y", "--id", "bd-4", "--json"], "create"),
    (&["create", "Long", "--description", "@$FILE", "--id", "bd-5", "--json"], "create"),
    (&["create", "Not made", "--dry-run", "--json"], "create"),
    (&["create", "-f", "$PAGE", "--json"], "create --file"),
    (&["show", "bd-e.1", "--json"], "show"),
    (&["show", "bd-e", "bd-e.2", "--json"], "show"),
    (
        &[
            "update",
            "bd-3",
            "bd-4",
            "--description",
            "d",
            "--design",
            "d",
            "--acceptance",
            "a",
            "--notes",
            "n",
            "--json",
        ],
        "update",
    ),
    (
        &["update", "bd-3", "--title", "T", "--status", "in_progress", "-p", "0", "-t", "chore", "--json"],
        "update",
    ),
    (
        &["update", "bd-3", "-s", "open", "-a", "bob", "--add-label", "c", "--remove-label", "a", "--json"],
        "update",
    ),
    (&["update", "bd-3", "--set-labels", "q,r", "--metadata", r#"{"m":2}"#, "--json"], "update"),
    (&["update", "bd-3", "--estimate", "", "--due", "", "--defer", "", "--json"], "update"),
    (&["update", "bd-4", "--notes", "@$FILE", "--json"], "update"),
    (&["update", "bd-4", "--claim", "--json"], "update"),
    (&["dep", "add", "bd-3", "bd-4", "--json"], "dep add"),
    (&["dep", "add", "bd-3", "bd-5", "--type", "discovered-from", "--json"], "dep add"),
    (&["dep", "remove", "bd-3", "bd-5", "--type", "discovered-from", "--json"], "dep remove"),
    (&["dep", "list", "bd-e.2", "--json"], "dep list"),
    (&["dep", "list", "bd-e.1", "--direction", "up", "--json"], "dep list"),
    (&["dep", "tree", "bd-3", "--json"], "dep tree"),
    (&["dep", "cycles", "--json"], "dep cycles"),
    (&["list", "--id", "bd-3,bd-nowhere,bd-4", "--json", "--limit", "0", "--all"], "list"),
    (&["list", "--json", "--tree=false", "--limit", "0"], "list"),
    (&["children", "bd-e", "--json"], "children"),
    (&["children", "bd-e", "--detailed", "--json"], "children --detailed"),
    (&["ready", "--parent", "bd-e", "--limit", "0", "--json"], "ready"),
    (&["ready", "--limit", "0", "--json"], "ready"),
    (&["questions", "--json"], "questions"),
    (&["blocked", "--json"], "blocked"),
    (&["epic", "status", "--json"], "epic status"),
    (&["comments", "add", "bd-3", "a comment", "--json"], "comment add"),
    (&["note", "bd-4", "a note", "--json"], "note add"),
    (&["comments", "bd-3", "--json"], "note list"),
    (&["label", "add", "bd-3", "bd-4", "L", "--json"], "label add"),
    (&["label", "remove", "bd-3", "L", "--json"], "label remove"),
    (&["stats", "--json"], "status"),
    (&["count", "--json"], "count"),
    (&["count", "--by-status", "--json"], "count --by-*"),
    (&["search", "third", "--json"], "search"),
    (&["stale", "--json"], "stale"),
    (&["close", "bd-e.1", "--reason", "R", "--json"], "close"),
    (&["close", "bd-e.2", "bd-4", "-r", "R", "--json"], "close"),
    (&["list", "--title-contains", "FIRST", "--json", "--limit", "1", "--parent", "bd-e"], "list"),
    (&["reopen", "bd-e.2", "bd-4", "-r", "R", "--json"], "reopen"),
    (&["claim", "bd-5", "--json"], "claim"),
    (&["mine", "--json"], "mine"),
    (&["renew", "bd-5", "--json"], "renew"),
    (&["claim", "--mine", "--json"], "claim --mine"),
    (&["heartbeat", "--json"], "heartbeat"),
    (&["session", "list", "--json"], "session list"),
    (&["session", "end", "--session", "gone", "--json"], "session end"),
    (&["reclaim", "--expired", "--json"], "reclaim"),
    (&["delete", "bd-5", "--force", "--json"], "delete"),
    (&["sync", "--json"], "sync"),
    (&["info", "--json"], "info"),
    (&["where", "--json"], "where"),
    (&["upgrade", "--check", "--json"], "upgrade"),
    (&["version", "--json"], "version"),
    (&["prime", "--json"], "prime"),
    (&["quickstart", "--json"], "quickstart"),
    (&["onboard", "--json"], "onboard"),
    (&["man", "--dir", "man1", "--json"], "man"),
    (&["config", "get", "issue_prefix", "--json"], "config get"),
    (&["config", "list", "--json"], "config list"),
    (&["config", "describe", "--json"], "config describe"),
    (&["validate", "--json"], "validate"),
    (&["verify", "--json"], "verify"),
    (&["deleted", "--json"], "deleted"),
    (&["restore", "bd-5", "--json"], "restore"),
    (&["archive", "--closed-before", "1d", "--json"], "archive"),
    (&["unclaim", "bd-5", "--force", "--reason", "R", "--json"], "unclaim"),
    (&["label", "list", "bd-4", "--json"], "label list"),
    (&["label", "list-all", "--json"], "label list-all"),
    (&["conflicts", "list", "--json"], "conflicts list"),
    (&["daemon", "status", "--json"], "daemon status"),
    (&["hub", "status", "--json"], "hub status"),
    (&["repair", "--dry-run", "--json"], "repair"),
    (&["epic", "close-eligible", "--json"], "epic close-eligible"),
    (&["config", "unset", "json.dialect", "--json"], "config unset"),
    (&["init", "--json"], "init"),
    (&["create", "--graph", "$GRAPH", "--json"], "create --graph"),
    (&["close", "bd-3", "--claim-next", "--json"], "close --claim-next"),
    (&["log", "bd-3", "--json"], "log"),
    (&["blame", "bd-3", "--json"], "blame"),
    (&["diff", "1w", "--json"], "diff"),
    (&["recap", "--json"], "recap"),
    (&["recap", "--brief", "--json"], "recap --brief"),
    (&["activity", "--json"], "activity"),
    (&["agents", "--json"], "agents"),
    (&["note", "list", "--author", "ann@here", "--json"], "note list"),
    (&["undo", "--json"], "undo"),
    (&["ready", "--limit", "10", "--sort", "hybrid", "--json"], "ready"),
    (&["ready", "--limit", "10", "--sort", "oldest", "--json"], "ready"),
    (&["ready", "--limit", "10", "--sort", "priority", "--json"], "ready"),
    (&["ready", "--explain", "--json"], "ready --explain"),
    (&["plan", "--workers", "2", "--json"], "plan"),
    (&["graph", "--json"], "graph"),
    (&["claim", "bd-e.2", "--confirm", "--json"], "claim --confirm"),
    (&["next", "--json"], "next"),
    (&["watch", "--since", "0", "--timeout", "0", "--json"], "watch"),
    (&["info", "--schema", "--json"], "info"),
    (&["migrate", "--inspect", "--json"], "migrate"),
    (&["repair-deps", "--json"], "repair-deps"),
    (&["doctor", "--check=validate", "--json"], "doctor"),
    (&["create", "Second", "--json"], "create"),
    (&["migrate", "--json"], "migrate"),
    (&["remember", "the port is 9090", "--json"], "remember"),
    (&["recall", "--json"], "recall"),
    (&["recall", "port", "--json"], "recall"),
    (&["forget", "the-port-is-9090", "--json"], "forget"),
    (&["uninstall", "--dry-run", "--json"], "uninstall"),
    (&["handover", "bd-e.2", "--to", "bob", "--json"], "handover"),
    (&["cancel", "bd-e.2", "--reason", "dropped", "--json"], "cancel"),
];

/// Calls that fail: one line on standard error, an error object on standard output.
const FAILURES: &[(&[&str], i32)] = &[
    (&["show", "bd-nowhere", "--json"], 1),
    (&["show", "bd-3", "bd-nowhere", "--json"], 1),
    (&["update", "bd-nowhere", "--title", "x", "--json"], 1),
    (&["close", "bd-nowhere", "--json"], 1),
    (&["dep", "add", "bd-3", "bd-nowhere", "--json"], 1),
    (&["comments", "add", "bd-nowhere", "x", "--json"], 1),
    (&["create", "x", "--metadata", "[]", "--json"], 2),
    (&["create", "x", "--due", "yesterday-ish", "--json"], 2),
    (&["create", "x", "--estimate", "much", "--json"], 2),
    (&["list", "--json=other"], 2),
    (&["no-such-verb", "--json"], 2),
];

fn schema_of(name: &str) -> Value {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    serde_json::from_slice(&std::fs::read(directory.join(name)).unwrap()).unwrap()
}

/// Schema validators by command, compiled once for each file.
struct Schemas {
    index: Value,
    made: BTreeMap<String, Validator>,
}

impl Schemas {
    fn new() -> Self {
        Self { index: schema_of("index.json"), made: BTreeMap::new() }
    }

    fn check(&mut self, command: &str, dialect: &str, output: &Value) {
        let file = self.index[command][dialect].as_str().unwrap_or_else(|| panic!("no schema for {command}"));
        let made = self.made.entry(file.to_owned());
        let validator = made.or_insert_with(|| jsonschema::validator_for(&schema_of(file)).unwrap());
        let errors: Vec<_> = validator
            .iter_errors(output)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{command} in {dialect}: {errors:?}");
    }
}

/// Creates a store that is addressed by its path, as these clients do, in a directory without git.
fn arguments(bd: &Sandbox, dialect: &str, args: &[&str]) -> Vec<String> {
    let path = |name: &str| bd.root().join(name).display().to_string();
    let filled = args.iter().map(|arg| {
        let arg = arg.replace("$FILE", &path("long.txt")).replace("$PAGE", &path("page.md"));
        arg.replace("$GRAPH", &path("graph.json"))
    });
    let mut all = match dialect {
        "compat" => vec!["--db".to_owned(), path("repo/.beads/beads.db")],
        _ => Vec::new(),
    };
    all.extend(filled);
    all
}

fn sandbox(mode: Mode) -> Sandbox {
    let bd = Sandbox::without_repository(mode);
    std::fs::write(bd.root().join("long.txt"), "x".repeat(100_000)).unwrap();
    let page =
        "## From a page\nstory\n### Priority\n1\n### Labels\na, b\n## Another\n### Dependencies\nbd-3\n";
    std::fs::write(bd.root().join("page.md"), page).unwrap();
    let graph = r#"{"beads":[{"name":"a","title":"A"},{"name":"b","title":"B","deps":["a"]}]}"#;
    std::fs::write(bd.root().join("graph.json"), graph).unwrap();
    bd
}

/// Asserts that no field that these clients require is null, at any depth.
fn check_nulls(value: &Value, dialect: &str) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| check_nulls(item, dialect)),
        Value::Object(fields) => {
            for name in ["description", "labels", "dependencies", "dependents", "dependency_type", "type"] {
                // The root of a tree is not a dependency of anything.
                let root = name == "dependency_type" && fields.get("depth") == Some(&json!(0));
                assert!(root || !fields.get(name).is_some_and(Value::is_null), "{name} in {value}");
            }
            if fields.contains_key("content_hash") && fields.contains_key("dependencies") {
                let notes = &fields["notes"];
                let fits =
                    if dialect == "compat" { notes.is_null() || notes.is_string() } else { notes.is_array() };
                assert!(fits, "notes in {value}");
                assert_eq!(fields.contains_key("comments"), dialect == "compat");
            }
            fields.values().for_each(|field| check_nulls(field, dialect));
        }
        _ => {}
    }
}

fn run_all(mode: Mode, dialect: &str) -> BTreeMap<String, Value> {
    let bd = sandbox(mode);
    let mut schemas = Schemas::new();
    let mut outputs = BTreeMap::new();
    for (args, command) in CALLS {
        let run = bd.run(&arguments(&bd, dialect, args)).succeeded(args);
        if *command == "watch" {
            // A stream: one value a line.
            let lines: Vec<Value> =
                run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(lines.len() > 10, "{lines:?}");
            lines.iter().for_each(|line| schemas.check(command, dialect, line));
            continue;
        }
        let output = run.value();
        schemas.check(command, dialect, &output);
        if *command != "validate" {
            check_nulls(&output, dialect);
        }
        outputs.insert(args.join(" "), output);
    }
    for (args, exit) in FAILURES {
        let run = bd.run(&arguments(&bd, dialect, args));
        assert_eq!(run.exit, Some(*exit), "{args:?}: {run:?}");
        run.assert_one_error_line();
        schemas.check("(any, on failure)", dialect, &run.value());
    }
    let missed: Vec<_> = schemas
        .index
        .as_object()
        .unwrap()
        .keys()
        .filter(|command| {
            !["(any, on failure)"].contains(&command.as_str())
                && !CALLS.iter().any(|(_, called)| called == command)
        })
        .filter(|command| !OUT_OF_REACH.contains(&command.as_str()))
        .collect();
    assert!(missed.is_empty(), "no test calls {missed:?}");
    outputs
}

/// Outputs that need a second replica, that end the daemon under test, or that have their own tests.
const OUT_OF_REACH: &[&str] = &[
    "conflicts dismiss",
    "conflicts restore",
    "conflicts show",
    "daemon stop",
    "edit",
    "export",
    "hub fence",
    "hub init",
    "hub upgrade",
    "import",
    "import --rescued",
    "import --verify",
];

#[test]
fn every_call_in_the_spec_dialect() {
    run_all(Mode::Daemon, "spec");
}

#[test]
fn every_call_in_the_compat_dialect_without_a_daemon() {
    run_all(Mode::Embedded, "compat");
}

#[test]
fn every_call_in_the_compat_dialect() {
    let outputs = run_all(Mode::Daemon, "compat");
    let of = |call: &str| outputs.get(call).unwrap_or_else(|| panic!("no {call}"));
    let made = of(
        "create --json First --description D --parent bd-e --type bug -p2 --design X --acceptance Y --notes N",
    );
    assert_eq!(made["notes"], "N", "{made}");
    assert_eq!((&made["issue_type"], &made["parent"]), (&json!("bug"), &json!("bd-e")));
    let shown = &of("show bd-e.1 --json")[0];
    assert_eq!(shown["dependencies"][0]["dependency_type"], "parent-child");
    assert_eq!(shown["dependencies"][0]["acceptance_criteria"], Value::Null, "a whole issue");
    assert_eq!(shown["dependents"][0]["id"], "bd-e.2");
    assert_eq!((&shown["dependency_count"], &shown["dependent_count"]), (&json!(1), &json!(1)));
    assert_eq!((&shown["comment_count"], &shown["notes"]), (&json!(0), &json!("N")), "notes are no comments");
    assert_eq!(of("dep add bd-3 bd-4 --json")["status"], "added");
    assert_eq!(of("dep add bd-3 bd-5 --type discovered-from --json")["type"], "discovered-from");
    assert_eq!(of("dep remove bd-3 bd-5 --type discovered-from --json")["status"], "removed");
    let waits = of("dep list bd-e.2 --json");
    assert_eq!(waits.as_array().unwrap().len(), 1, "the parent is not among them: {waits}");
    assert_eq!((&waits[0]["id"], &waits[0]["dependency_type"]), (&json!("bd-e.1"), &json!("blocks")));
    assert_eq!(of("list --id bd-3,bd-nowhere,bd-4 --json --limit 0 --all").as_array().unwrap().len(), 2);
    assert_eq!(of("list --title-contains FIRST --json --limit 1 --parent bd-e")[0]["status"], "closed");
    let listed = of("list --json --tree=false --limit 0").as_array().unwrap();
    let second = listed.iter().find(|bead| bead["id"] == "bd-e.2").unwrap();
    let link = &second["dependencies"][0];
    assert_eq!((&link["issue_id"], &link["depends_on_id"]), (&json!("bd-e.2"), &json!("bd-e.1")));
    assert_eq!((&link["type"], &link["dependency_type"]), (&json!("blocks"), &json!("blocks")));
    let long = listed.iter().find(|bead| bead["id"] == "bd-5").unwrap();
    assert_eq!(long["description"].as_str().unwrap().len(), 100_000);
    assert_eq!(of("update bd-4 --notes @$FILE --json")[0]["notes"].as_str().unwrap().len(), 100_000);
    assert_eq!(of("blocked --json")[0]["blocked_by_count"], 1);
    assert_eq!(of("comments add bd-3 a comment --json")["text"], "a comment");
    assert_eq!(of("close bd-e.1 --reason R --json")[0]["close_reason"], "R");
    assert_eq!(of("stats --json")["summary"]["tombstone_issues"], 0);
    let changed = &of(r#"update bd-3 --set-labels q,r --metadata {"m":2} --json"#)[0];
    assert_eq!((&changed["labels"], &changed["metadata"]), (&json!(["q", "r"]), &json!({"m": 2})));
    assert_eq!(changed["estimated_minutes"], 30);
    let cleared = &of("update bd-3 --estimate  --due  --defer  --json")[0];
    assert!(cleared["due_at"].is_null() && cleared["defer_until"].is_null(), "{cleared}");
    let ready = of("ready --parent bd-e --limit 0 --json");
    assert_eq!(ready[0]["id"], "bd-e.1");
    assert_eq!(of("create -f $PAGE --json")[0]["labels"], json!(["a", "b"]));
    let explained = of("ready --explain --json");
    assert!(explained["ready"][0]["comment_count"].is_u64(), "whole issues of this dialect: {explained}");
    let confirmed = of("claim bd-e.2 --confirm --json");
    assert!(confirmed["comment_count"].is_u64() && confirmed["confirmed_by"].is_null(), "{confirmed}");
    assert_eq!(of("create Second --json")["similar"][0]["id"], "bd-e.2");
}

/// The order of precedence: `--json=…`, `BD_JSON`, the setting, options that only those clients pass.
#[test]
fn how_the_dialect_is_chosen() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["x", "--notes", "n"]);
    let notes = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = bd.command(&[&["show", id.as_str()], args].concat());
        command.envs(variables.iter().copied());
        let value = Run::of(&mut command).succeeded(args).value();
        if value[0]["notes"].is_array() { "spec" } else { "compat" }
    };
    assert_eq!(notes(&["--json"], &[]), "spec");
    assert_eq!(notes(&["--json=true"], &[]), "spec");
    assert_eq!(notes(&["--json=compat"], &[]), "compat");
    assert_eq!(notes(&["--json"], &[("BD_JSON", "compat")]), "compat");
    assert_eq!(notes(&["--json=spec"], &[("BD_JSON", "compat")]), "spec");
    for flag in ["--no-auto-flush", "--no-auto-import", "--allow-stale", "--sandbox"] {
        assert_eq!(notes(&["--json", flag], &[]), "compat", "{flag}");
    }
    for variable in ["BEADS_NO_DAEMON", "BEADS_NO_AUTO_FLUSH", "BEADS_PATH"] {
        assert_eq!(notes(&["--json"], &[(variable, "1")]), "compat", "{variable}");
        assert_eq!(notes(&["--json"], &[(variable, "")]), "spec", "an empty {variable} is ignored");
    }
    assert_eq!(notes(&["--json", "--no-daemon", "--lock-timeout", "5s"], &[]), "spec");
    bd.text(&["config", "set", "json.dialect", "spec"]);
    assert_eq!(notes(&["--json", "--sandbox"], &[]), "spec", "the setting wins over the caller");
    assert_eq!(notes(&["--json"], &[("BD_JSON", "compat")]), "compat");
    bd.text(&["config", "set", "json.dialect", "compat"]);
    assert_eq!(notes(&["--json"], &[]), "compat");
    bd.error(&["config", "set", "json.dialect", "other"], "invalid_value");
    let run = Run::of(bd.command(&["list", "--json"]).env("BD_JSON", "other"));
    run.failed("BD_JSON", "invalid_value");
    assert!(!bd.text(&["show", &id, "--json=false"]).starts_with('['));
}

/// In a git worktree and without git. `--version` creates nothing; `config set` creates the store.
#[test]
fn a_store_by_its_path() {
    for with_git in [true, false] {
        let bd = Sandbox::without_repository(Mode::Embedded);
        if with_git {
            commit_something(bd.dir());
        }
        let db = bd.dir().join(".beads/beads.db").display().to_string();
        bd.text(&["--db", &db, "--version"]);
        assert!(!bd.dir().join(".beads").exists());
        bd.text(&["--db", &db, "config", "set", "issue_prefix", "app"]);
        let made = bd.run(&["--db", &db, "create", "x", "--json"]).succeeded("create").value();
        assert!(made["id"].as_str().unwrap().starts_with("app-"), "{made}");
        assert!(made["notes"].is_null(), "{made}");
    }
}

#[test]
fn silence_and_text() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.text(&["create", "x", "--silent"]).trim_end().to_owned();
    assert_eq!(bd.show(&id)["title"], "x", "the output is the id alone");
    assert_eq!(bd.text(&["close", &id, "--reason", "R"]), "");
    assert_eq!(bd.text(&["sync"]), "");
    assert_eq!(bd.text(&["--sandbox", "sync"]), "");
    let child = bd.create(&["child", "--parent", &id]);
    let tree = bd.text(&["list", "--tree", "--all"]);
    assert_eq!(tree.lines().nth(1).unwrap().split_whitespace().nth(1), Some(child.as_str()), "{tree}");
    assert!(bd.text(&["children", &id, "--detailed"]).contains("part of"));
    assert!(bd.text(&["info"]).contains("daemon"));
    // A token is about four characters.
    let prime = bd.text(&["prime"]);
    assert!(prime.len() < 400 * 4 && prime.contains("bd close"), "{} bytes", prime.len());
    assert!(!prime.contains("commit") && !prime.contains("push"), "{prime}");
    let outside = Sandbox::without_repository(Mode::Daemon);
    assert_eq!(outside.text(&["prime"]), "");
    assert!(outside.text(&["quickstart"]).contains("bd ready"));
}

#[test]
fn deferred_beads_are_not_ready() {
    let bd = Sandbox::new(Mode::Daemon);
    let later = bd.create(&["later", "--defer", "+2d"]);
    let past = bd.create(&["past", "--defer", "2020-01-01"]);
    assert_eq!(bd.ids(&["ready"]), [past.as_str()]);
    bd.json(&["update", &later, "--defer", ""]);
    assert_eq!(bd.ids(&["ready"]), [later, past]);
}
