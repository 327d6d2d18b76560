//! The cost of `bd mcp` for an agent, in tokens of o200k. The targets are the project's; the figures are in
//! the README.

use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;

use super::client::Client;
use crate::sandbox::{Mode, Sandbox};

/// Realistic titles, most urgent first.
const TITLES: [&str; 10] = [
    "Parser rejects numbers with exponents",
    "Retry uploads when the connection drops",
    "Document the configuration file",
    "Cache compiled templates between requests",
    "Show progress while importing",
    "Crash when the settings file is empty",
    "Sort search results by relevance",
    "Add a dark theme",
    "Remove the deprecated login endpoint",
    "Measure startup time in CI",
];

const DESCRIPTION: &str = "\
`1e9` and `2.5E-3` are valid in the grammar (docs/grammar.md, rule `number`) but the parser stops at the `e`. Scanning happens in \
src/lexer/number.rs; the exponent belongs to the token, including an optional sign. Reject an exponent without digits with the same error as \
a fraction without digits, and keep the position of the offending character in it.";

fn tokens(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

/// Creates a store in everyday use. The ids are fixed, because random ones differ in their number of tokens.
fn store() -> Sandbox {
    let sandbox = Sandbox::new(Mode::Embedded);
    let create = |number: usize, more: &[&str]| {
        let id = format!("bd-x{number}q");
        let priority = (number / 3).to_string();
        sandbox.create(&[&[TITLES[number], "--id", &id, "-p", &priority], more].concat());
    };
    create(
        0,
        &["-d", DESCRIPTION, "--acceptance", "cargo test lexer passes with the new cases", "-t", "bug"],
    );
    (1..TITLES.len()).for_each(|number| create(number, &[]));
    sandbox.create(&["Support scientific notation in the editor", "--id", "bd-y1q", "--deps", "bd-x0q"]);
    sandbox.json(&["note", "add", "bd-x0q", "The old lexer accepted this; see the tests removed in March."]);
    sandbox
}

/// Adds a date to the end of the lease, as if it ended tomorrow: the date costs tokens, and the test may run
/// at any hour.
fn with_day(answer: &str) -> String {
    match answer.split_once("yours until ") {
        Some((before, after)) if after.as_bytes().get(2) == Some(&b':') => {
            format!("{before}yours until 2026-11-17 {after}")
        }
        _ => answer.to_owned(),
    }
}

/// Calls a tool. Returns the tokens of the call and its answer, and the answer.
fn exchange(client: &mut Client, tool: &str, arguments: Value) -> (usize, String) {
    let request = json!({"name": tool, "arguments": arguments}).to_string();
    let answer = with_day(&client.call(tool, arguments));
    (tokens(&request) + tokens(&answer), answer)
}

/// Returns the rows of the README's table: description, target, measured value.
fn readme() -> Vec<(String, usize, usize)> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split_once("| | goal | measured |\n|---|---|---|\n").unwrap().1;
    let number = |cell: &str| cell.trim().replace(',', "").parse().unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        (cells[0].trim().to_owned(), number(cells[1]), number(cells[2]))
    };
    table.lines().take_while(|line| line.starts_with('|')).map(row).collect()
}

#[test]
fn the_targets_are_met_and_the_readme_is_correct() {
    let sandbox = store();
    let mut client = Client::start(&sandbox);
    let listed = client.ask("tools/list", json!({"toolset": "daily"}))["result"].take();
    let each = listed["tools"].as_array().unwrap().iter().map(|tool| tokens(&tool.to_string()));
    let largest = each.max().unwrap();

    let ready = client.call("status", json!({"ready": 10}));
    assert_eq!(ready.lines().filter(|line| line.starts_with("  bd-")).count(), 10, "{ready}");
    let (next, brief) = exchange(&mut client, "next", json!({}));
    assert!(brief.starts_with("bd-x0q P0 bug Parser") && brief.contains("note by"), "{brief}");
    let status = client.call("status", json!({}));
    let note = json!({"text": "The sign was the hard part: `1e-` must fail at the end of input too."});
    let (note, _) = exchange(&mut client, "note", note);
    let (done, answer) =
        exchange(&mut client, "done", json!({"reason": "Exponents are part of the number token"}));
    assert!(answer.contains("unblocked bd-y1q"), "{answer}");

    let measured = [
        ("`tools/list`, six tools", 1_200, tokens(&listed.to_string())),
        ("the largest of them", 220, largest),
        ("`status`", 60, tokens(&status)),
        ("ten ready beads", 200, tokens(&ready)),
        ("a claimed brief", 250, tokens(&brief)),
        ("next, note, done: calls and answers", 400, next + note + done),
        ("`bd prime`", 400, tokens(&sandbox.text(&["prime"]))),
    ];
    for (what, goal, tokens) in measured {
        assert!(tokens <= goal, "{what}: {tokens} tokens, more than {goal}");
    }
    let measured = measured.map(|(what, goal, tokens)| (what.to_owned(), goal, tokens));
    assert_eq!(readme(), measured, "README.md differs from the measured values");
}

#[test]
fn long_answers_stay_within_the_targets_too() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let title = "A title that goes on and on about everything there is to know ".repeat(7);
    let bead = sandbox.create(&[&title, "-d", &DESCRIPTION.repeat(9)]);
    for _ in 0..30 {
        sandbox.create(&[&title, "--deps", &bead]);
    }
    let mut client = Client::start(&sandbox);
    let brief = with_day(&client.call("next", json!({"id": bead})));
    assert!(tokens(&brief) <= 250 && brief.contains("WARNING: BUDGET_TRUNCATED"), "{brief}");
    let status = client.call("status", json!({}));
    assert!(tokens(&status) <= 60, "{status}");
    let (done, answer) = exchange(&mut client, "done", json!({"reason": "It has an end"}));
    assert!(done <= 150 && answer.contains("and 27 more"), "{answer}");
    let ready = client.call("status", json!({"ready": 10}));
    assert!(ready.len() < 1_000 && ready.contains("MORE: status"), "{ready}");
}
