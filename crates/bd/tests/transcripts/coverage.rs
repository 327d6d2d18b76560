//! Every verb and every JSON tool has a transcript, and each transcript shows what it must.

use std::collections::BTreeSet;

use beads::operations::{Operation, TABLE};

use crate::golden::{commands, directory, is_updating, path, read};

/// Verbs that answer in no JSON of their own, and why.
const WITHOUT_JSON: &[(&str, &str)] = &[
    ("call", "its protocol is JSON"),
    ("complete", "a shell reads its answer"),
    ("completions", "a shell reads its answer"),
    ("demo", "it is for people"),
    ("mcp", "its protocol is JSON"),
];

/// Where the transcript of an operation is: the golden file, and how the command begins.
fn transcript(operation: &Operation) -> (&'static str, String, String) {
    match operation.verb.split_once(' ') {
        Some(("agent", verb)) => ("bb", verb.to_owned(), format!("bb {}", operation.verb)),
        _ => {
            let verb = operation.verb.split(' ').next().unwrap();
            ("bd", verb.replace('-', "_"), format!("bd {}", operation.verb))
        }
    }
}

/// Returns whether a command line has these words in a row.
fn has_words(line: &str, words: &str) -> bool {
    format!(" {line} ").contains(&format!(" {words} "))
}

#[test]
fn every_operation_has_a_transcript_in_text_and_json() {
    if is_updating() {
        return;
    }
    for operation in TABLE {
        let (directory, name, begin) = transcript(operation);
        let path = path(directory, &name);
        assert!(
            path.exists(),
            "{begin} has no transcript: write the commands into {} and a line in main.rs",
            path.display()
        );
        let text = read(&path);
        let uses: Vec<&str> = commands(&text).into_iter().filter(|line| has_words(line, &begin)).collect();
        let shows = |what: &str| uses.iter().any(|line| has_words(line, what));
        assert!(shows("--help"), "the transcript of {begin} shows no --help");
        let is_plain = |line: &&str| !has_words(line, "--json") && !has_words(line, "--help");
        assert!(uses.iter().any(is_plain), "the transcript of {begin} shows no answer as text");
        let has_json = !WITHOUT_JSON.iter().any(|(verb, _)| *verb == operation.verb);
        assert!(!has_json || shows("--json"), "the transcript of {begin} shows no --json");
        assert!(text.contains("\n[exit "), "the transcript of {begin} shows no error");
    }
}

#[test]
fn every_json_tool_has_a_transcript() {
    if is_updating() {
        return;
    }
    for tool in TABLE.iter().filter_map(|operation| operation.tool) {
        let path = path("tool", &tool.replace('.', "_"));
        assert!(
            path.exists(),
            "{tool} has no transcript: write the commands into {} and a line in main.rs",
            path.display()
        );
        let text = read(&path);
        let answers =
            |ok: &str| text.contains(&format!("\"ok\": {ok},")) || text.contains(&format!("\"ok\":{ok},"));
        assert!(answers("true") && answers("false"), "the transcript of {tool} lacks an answer or an error");
    }
}

#[test]
fn every_golden_file_is_compared() {
    let listed = [("bd", crate::bd::NAMES), ("bb", crate::bb::NAMES), ("tool", crate::tool::NAMES)];
    let listed = listed.iter().flat_map(|(directory, names)| names.iter().map(|name| path(directory, name)));
    let listed: BTreeSet<_> = listed.collect();
    let directories = std::fs::read_dir(directory()).unwrap();
    let stored = directories.flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
    let stored: BTreeSet<_> = stored.map(|entry| entry.unwrap().path()).collect();
    let difference: Vec<_> = stored.symmetric_difference(&listed).collect();
    assert!(difference.is_empty(), "either without a line in main.rs or without a file: {difference:?}");
}
