//! Random valid and invalid input for every tool and every portal: no panics, no internal errors, no answers
//! that violate the tool's own schema. `BD_PROPERTY_CASES` and `BD_PROPERTY_SEED` set the number of cases and
//! the seed.

mod generate;

use std::collections::BTreeMap;
use std::ffi::OsString;

use beads::mcp::{self, Server, Session, Toolset};
use beads::tool::{self, runner};
use beads_engine::client::Access;
use beads_engine::place::Place;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox};
use generate::{Dice, Generator};

/// Enough for a test run; a campaign runs ten times as many.
const CASES: usize = 1_000;

/// The error codes that contract 3 allows; `internal_error` would be a bug.
const ERRORS: [&str; 11] = [
    "invalid_json",
    "missing_field",
    "invalid_type",
    "invalid_value",
    "not_found",
    "conflict",
    "permission_denied",
    "timeout",
    "rate_limited",
    "network_error",
    "dependency_missing",
];

/// Terms from libraries that mean nothing to a caller of a tool.
const FOREIGN: [&str; 9] = [
    "usize",
    "u64",
    "expected one of `",
    "invalid type: string",
    ", expected ",
    "unknown variant",
    "unknown field `",
    "missing field `",
    " --",
];

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Creates a store with a few items of each kind, and returns their names.
fn create_store() -> (Sandbox, Vec<String>) {
    let bd = Sandbox::new(Mode::Embedded);
    let mut known: Vec<String> = ["bd-1", "bd-2", "bd-3"].map(|id| bd.create(&["A bead", "--id", id])).into();
    known.push(bd.create(&["A child", "--parent", "bd-1"]));
    bd.json(&["dep", "add", "bd-2", "bd-3"]);
    bd.json(&["note", "add", "bd-2", "a note"]);
    known.extend(["ann-here", "birch", "broadcast", "msg_none"].map(str::to_owned));
    std::fs::write(bd.dir().join("issues.jsonl"), "{\"id\":\"bd-7\",\"title\":\"imported\"}\n{\n").unwrap();
    (bd, known)
}

fn context<'a>(
    bd: &Sandbox,
    apply: bool,
    progress: &'a dyn Fn(u8),
    trace: &'a dyn Fn(&str),
) -> tool::Context<'a> {
    tool::Context {
        directory: bd.dir().to_owned(),
        db: None,
        actor: "ann@here".parse().unwrap(),
        session: None,
        access: Access { no_daemon: true, ..Access::default() },
        no_export: false,
        offline: false,
        apply,
        request_id: None,
        progress,
        trace,
    }
}

/// Asserts that a result matches the tool's own schema.
fn check_result(tool: &tool::Tool, result: &Value, validators: &mut BTreeMap<&'static str, Validator>) {
    let validator = validators
        .entry(tool.name)
        .or_insert_with(|| jsonschema::validator_for(&tool.output_schema()).unwrap());
    let wrong = validator.iter_errors(result).next();
    assert!(wrong.is_none(), "{}: {}: {result}", tool.name, wrong.unwrap());
}

fn check_refusal(what: &str, refusal: &Value) {
    let code = refusal["error"].as_str().unwrap_or_default();
    assert!(ERRORS.contains(&code), "{what}: {refusal}");
    let message = refusal["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "{what}: {refusal}");
    for foreign in &FOREIGN[..8] {
        assert!(!message.contains(foreign), "{what}: {refusal}");
    }
}

#[test]
fn no_input_breaks_a_tool() {
    let (bd, known) = create_store();
    let (cases, seed) = (number("BD_PROPERTY_CASES", CASES), number("BD_PROPERTY_SEED", 1));
    let path = bd.dir().join("issues.jsonl").to_str().unwrap().to_owned();
    let directory = bd.dir().to_str().unwrap().to_owned();
    let mut validators = BTreeMap::new();
    for case in 0..cases {
        let mut dice = Dice::new((seed * 1_000_003 + case) as u64);
        let tool = &tool::table()[case % tool::table().len()];
        let apply = dice.one_in(2);
        let is_import = tool.name == "beads.import";
        let mut generator =
            Generator { dice: &mut dice, known: &known, path: if is_import { &path } else { &directory } };
        let mut input = generator.input(tool.input_schema());
        if is_import && let Some(repo) = input.get_mut("repo") {
            *repo = json!(directory);
        }
        if generator.dice.one_in(6) {
            let second = generator.input(tool.input_schema());
            input = json!({"batch": true, "items": [input, second, 7]});
        }
        let what = format!("seed {seed}, case {case}: {} {input}", tool.name);
        let (mut out, arguments) = (Vec::new(), apply.then(|| OsString::from("--apply")));
        let exit = runner::execute(
            tool.name,
            arguments.as_slice(),
            &|apply, progress, trace| Ok(context(&bd, apply, progress, trace)),
            &mut input.to_string().as_bytes(),
            &mut out,
        );
        for line in String::from_utf8(out).unwrap().lines() {
            let document: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{what}: {error}: {line}"));
            assert!(
                document["ok"] == (exit == 0) || document["batch"] == true,
                "{what}: exit {exit}: {document}"
            );
            if document["batch"] == true {
                for one in document["results"].as_array().unwrap() {
                    match one["ok"] == true {
                        true => check_result(tool, &one["result"], &mut validators),
                        false => check_refusal(&what, one),
                    }
                }
            } else if document["ok"] == false {
                check_refusal(&what, &document);
            } else if document["stream"] != true {
                check_result(tool, &document["result"], &mut validators);
            }
        }
    }
}

/// Returns the answers to consecutive calls in one session.
fn answers(bd: &Sandbox, calls: &[(String, Value)]) -> Vec<Value> {
    let context = mcp::Context {
        place: Place::from_env(None, bd.dir()).unwrap(),
        session: None,
        directory: bd.dir().to_owned(),
        db: None,
        access: Access { no_daemon: true, ..Access::default() },
        no_export: false,
        offline: false,
        chosen_actor: Ok(Some("ann@here".parse().unwrap())),
        default_actor: Ok("ann@here".parse().unwrap()),
    };
    let mut input = String::new();
    for (id, (method, params)) in calls.iter().enumerate() {
        input += &format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }
    let mut out = Vec::new();
    let session = Session::new(context, None).unwrap();
    Server::new(session, Toolset::Full, &mut out).serve(input.as_bytes()).unwrap();
    let mut answers: Vec<Value> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|message| message.get("id").is_some())
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

fn check_portal(what: &str, text: &str, failed: bool) {
    assert_eq!(text.starts_with("ERROR: "), failed, "{what}: {text}");
    if failed {
        assert!(text.contains(" | fix: ") && !text.contains("INTERNAL_ERROR"), "{what}: {text}");
    }
}

fn check_envelope(what: &str, text: &str, failed: bool) {
    let envelope: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{what}: {error}: {text}"));
    let mut keys: Vec<&str> = envelope.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let all = ["context", "error", "intent", "result", "success", "suggestions", "timestamp", "warnings"];
    assert_eq!(keys, all, "{what}: {text}");
    assert_eq!(envelope["success"], !failed, "{what}: {text}");
    assert!(envelope["result"].is_object(), "{what}: {text}");
    if failed {
        assert_ne!(envelope["error"]["code"], "INTERNAL_ERROR", "{what}: {text}");
        let (message, recovery) = (&envelope["error"]["message"], &envelope["error"]["recovery"]);
        assert!(
            message.is_string() && recovery.as_str().is_some_and(|fix| !fix.is_empty()),
            "{what}: {text}"
        );
    }
}

#[test]
fn no_input_breaks_a_portal_or_a_full_view() {
    /// Calls per session.
    const TOGETHER: usize = 50;
    let (bd, known) = create_store();
    let (cases, seed) = (number("BD_PROPERTY_CASES", CASES), number("BD_PROPERTY_SEED", 1));
    let directory = bd.dir().to_str().unwrap().to_owned();
    let listed = answers(&bd, &[("tools/list".to_owned(), json!({"toolset": "full"}))])[0].clone();
    let tools = listed["result"]["tools"].as_array().unwrap();
    for first in (0..cases).step_by(TOGETHER) {
        let mut calls = Vec::new();
        for case in first..(first + TOGETHER).min(cases) {
            let mut dice = Dice::new((seed * 7_000_003 + case) as u64);
            // Every other call goes to a portal: there are few of them, and they are used most.
            let listed = if case % 2 == 0 { &tools[case / 2 % 6] } else { &tools[case / 2 % tools.len()] };
            let mut generator = Generator { dice: &mut dice, known: &known, path: &directory };
            let mut arguments = generator.input(&listed["inputSchema"]);
            if listed["name"] == "beads_import" {
                arguments["path"] = json!("issues.jsonl");
            }
            calls.push(("tools/call".to_owned(), json!({"name": listed["name"], "arguments": arguments})));
        }
        let answers = answers(&bd, &calls);
        assert_eq!(answers.len(), calls.len());
        for (index, (answer, (_, call))) in answers.iter().zip(&calls).enumerate() {
            let what = format!("seed {seed}, case {}: {call}", first + index);
            let text = answer["result"]["content"][0]["text"].as_str();
            let text = text.unwrap_or_else(|| panic!("{what}: {answer}"));
            let failed = answer["result"]["isError"] == true;
            let is_portal = tools[..6].iter().any(|portal| portal["name"] == call["name"]);
            if is_portal {
                check_portal(&what, text, failed);
            } else {
                check_envelope(&what, text, failed);
            }
            if failed {
                let said = if is_portal {
                    text.to_owned()
                } else {
                    let envelope: Value = serde_json::from_str(text).unwrap();
                    format!("{} {}", envelope["error"]["message"], envelope["error"]["recovery"])
                };
                // A message may quote the caller's input, which can contain any term.
                let sent = call["arguments"].to_string();
                for foreign in FOREIGN.iter().filter(|foreign| !sent.contains(foreign.trim())) {
                    assert!(!said.replace("bd repair --dry-run", "").contains(foreign), "{what}: {said}");
                }
            }
        }
    }
}
