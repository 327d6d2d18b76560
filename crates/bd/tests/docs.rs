//! The documentation, executed: transcripts in ```console blocks give what they show, and the examples and bounds of the
//! protocol are the real ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

use beads_engine::daemon::{
    FRAME_TIMEOUT, MAX_BATCH, MAX_BATCH_BYTES, MAX_CONNECTIONS, MAX_FRAME_BYTES, MAX_LONG_QUESTIONS,
    MAX_QUEUE, MAX_UNREAD_BYTES, MAX_WAITERS, SEND_TIMEOUT,
};
use beads_engine::request::{Reply, Request};
use beads_store::{MAX_LONG_LIVED_RECEIPTS, MAX_SHORT_LIVED_RECEIPTS};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks that are marked with exactly this word.
fn blocks(page: &str, mark: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.strip_prefix("```") == Some(mark) {
            blocks.push(
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect(),
            );
        }
    }
    blocks
}

struct Scratch {
    root: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        git2::Repository::init(root.path()).unwrap();
        Self { root }
    }

    /// Runs a line as a reader would type it, and returns what it prints.
    fn type_in(&self, line: &str) -> String {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_bd"));
        let linked = self.root.path().join("bin");
        let path = std::env::join_paths([
            program.parent().unwrap(),
            &linked,
            Path::new("/usr/bin"),
            Path::new("/bin"),
        ]);
        let output = Command::new("sh")
            .args(["-c", &format!("{line} 2>&1")])
            .current_dir(self.root.path())
            .env("PATH", path.unwrap())
            .env("BD_ACTOR", "ann")
            .env("BD_RUNTIME_DIR", self.root.path().join("run"))
            .env_remove("BEADS_DB")
            .env_remove("BEADS_DIR")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.type_in("bd daemon stop");
    }
}

/// Times differ from run to run; everything else must not.
fn without_times(text: &str) -> String {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |window: &[u8]| {
        window.iter().zip(SHAPE).all(|(byte, shape)| byte == shape || *shape == b'd' && byte.is_ascii_digit())
    };
    let mut out = text.as_bytes().to_vec();
    for start in 0..=out.len().saturating_sub(SHAPE.len()) {
        if out.len() >= start + SHAPE.len() && fits(&out[start..start + SHAPE.len()]) {
            out[start..start + SHAPE.len()].fill(b'T');
        }
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn transcripts_show_what_happens() {
    for name in [
        "README.md",
        "docs/ARCHITECTURE.md",
        "docs/PLANNING.md",
        "docs/HISTORY.md",
        "docs/TOOLS.md",
        "docs/SWARM.md",
        "docs/MORNING.md",
        "CONTRIBUTING.md",
    ] {
        for block in blocks(&page(name), "console") {
            let scratch = Scratch::new();
            let mut happened = String::new();
            for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
                happened.push_str(&format!("$ {line}\n{}", scratch.type_in(line)));
            }
            assert_eq!(without_times(&happened), without_times(&block), "in {name}");
        }
    }
}

#[test]
fn tools_work_in_a_pipeline_as_printed() {
    let scratch = Scratch::new();
    if scratch.type_in("command -v jq").is_empty() {
        eprintln!("skipped: there is no jq here");
        return;
    }
    let lines = blocks(&page("docs/TOOLS.md"), "sh");
    let pipeline = lines.iter().flat_map(|block| block.lines()).find(|line| line.contains("| beads.show"));
    assert_eq!(scratch.type_in("bd tool install --dir bin --all --quiet"), "");
    let shown: serde_json::Value = serde_json::from_str(&scratch.type_in(pipeline.unwrap())).unwrap();
    assert_eq!((&shown["ok"], &shown["result"]["title"]), (&true.into(), &"x".into()));
}

#[test]
fn the_readme_has_a_transcript_and_the_two_commands() {
    let readme = page("README.md");
    assert!(!blocks(&readme, "console").is_empty());
    let commands = blocks(&readme, "sh").remove(0);
    assert!(commands.contains("cargo run --release -- demo"));
    assert!(commands.contains("cargo test --workspace"));
}

#[test]
fn protocol_examples_are_requests_and_replies() {
    let mut seen = 0;
    for line in blocks(&page("docs/PROTOCOL.md"), "json").iter().flat_map(|block| block.lines()) {
        if line.contains("\"position\"") {
            serde_json::from_str::<Reply>(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        } else {
            serde_json::from_str::<Request>(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        seen += 1;
    }
    assert!(seen >= 5, "{seen} examples");
}

#[test]
fn protocol_bounds_are_the_real_ones() {
    let protocol = page("docs/PROTOCOL.md");
    let thousands = |number: usize| format!("{},{:03}", number / 1_000, number % 1_000);
    let rows = [
        format!("| frame | {} MiB |", MAX_FRAME_BYTES / 1024 / 1024),
        format!("to its end | {} s |", FRAME_TIMEOUT.as_secs()),
        format!("| connections | {} |", thousands(MAX_CONNECTIONS)),
        format!("| requests waiting | {} |", thousands(MAX_QUEUE)),
        format!("| requests that wait for something to happen | {} |", thousands(MAX_WAITERS)),
        format!("| remembered request ids | {} |", thousands(MAX_LONG_LIVED_RECEIPTS)),
        format!("| remembered request ids with `~` | {} |", thousands(MAX_SHORT_LIVED_RECEIPTS)),
        format!("| requests that share a sync | {} |", thousands(MAX_BATCH)),
        format!("| bytes of replies that share a sync | {} MiB |", MAX_BATCH_BYTES / 1024 / 1024),
        format!("| long questions waiting for a thread | {MAX_LONG_QUESTIONS} |"),
        format!("takes nothing of a reply | {} s |", SEND_TIMEOUT.as_secs()),
        format!("have not read | {} MiB |", MAX_UNREAD_BYTES / 1024 / 1024),
    ];
    for row in rows {
        assert!(protocol.contains(&row), "{row:?} is missing");
    }
}

/// `cargo xtask schema` writes them anew.
#[test]
fn the_schemas_are_those_of_the_types() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let files = beads_engine::render::schema::files();
    for (name, text) in &files {
        let stored = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(stored == *text, "docs/schema/{name} is out of date: run cargo xtask schema");
    }
    let stored = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
    let left_over: Vec<_> = stored.filter(|name| !files.contains_key(name.to_str().unwrap())).collect();
    assert!(left_over.is_empty(), "nobody prints {left_over:?}: run cargo xtask schema");
}
