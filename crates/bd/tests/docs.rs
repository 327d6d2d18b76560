//! The documentation, executed: transcripts in ```console blocks give what they show, and the examples and bounds of the
//! protocol are the real ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
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
        self.type_as("ann", None, line)
    }

    /// Runs a line in the shell of an actor, which may belong to a session.
    fn type_as(&self, actor: &str, session: Option<&str>, line: &str) -> String {
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
            .env("BD_ACTOR", actor)
            .env_remove("BD_SESSION")
            .envs(session.map(|session| ("BD_SESSION", session)))
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

/// The walk of a newcomer, from the blocks of the README alone: no step is missing, and each can be typed as it stands.
#[test]
fn the_first_bead_reaches_the_second_machine() {
    let readme = page("README.md");
    let (_, section) = readme.split_once("\n## The first bead on two machines\n").unwrap();
    let blocks = blocks(section, "sh");
    let scratch = Scratch::new();
    let home = scratch.root.path().display().to_string();
    let walk = |block: &str| scratch.type_in(&format!("{{ export HOME={home}; set -e; {block}\n}}"));
    let first = walk(&blocks[0]);
    assert!(first.contains("created bd-try: Try beads\n") && first.contains("Pushed to origin\n"), "{first}");
    let second = walk(&blocks[1]);
    assert!(second.contains("Joined the store of origin: 1 bead\n"), "{second}");
    assert!(
        second.contains("closed bd-try: Try beads\n") && second.contains("Pushed to origin\n"),
        "{second}"
    );
    let back = walk(&blocks[2]);
    assert!(back.contains("Pulled from origin\n") && back.contains("closed  task\n"), "{back}");
    for machine in ["first", "second"] {
        scratch.type_in(&format!("bd -C ~/try-beads/{machine} daemon stop").replace('~', &home));
    }
}

/// The files that `docs/MACOS.md` lists are those whose code depends on the system.
#[test]
fn every_file_that_depends_on_the_system_is_on_the_page_about_macos() {
    let marks = [
        "target_os",
        "target_env",
        "target_vendor",
        "TARGET_OS",
        "linked_statically",
        "consts::OS",
        "cfg(unix)",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut found = BTreeSet::new();
    let mut pending = vec![root.join("crates")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("tests/docs.rs")
        {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let reads_proc = !name.contains("/tests/") && text.contains("\"/proc/");
            if reads_proc || marks.iter().any(|mark| text.contains(mark)) {
                found.insert(name.to_owned());
            }
        }
    }
    let page = page("docs/MACOS.md");
    let table = page.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let named = table.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let listed: BTreeSet<String> =
        named.filter(|name| name.starts_with("crates/")).map(str::to_owned).collect();
    assert_eq!(listed, found, "in docs/MACOS.md (left) and in the code (right)");
}

#[test]
fn every_shared_setting_is_listed_among_what_raises_the_format() {
    let page = page("docs/COMPATIBILITY.md");
    let (_, list) = page.split_once("\n## What raises the format\n").unwrap();
    for (key, _) in beads_engine::config::REPLICATED {
        assert!(list.contains(&format!("`{key}`")), "{key} is not in the list of docs/COMPATIBILITY.md");
    }
}

/// The agents of the night, with the sessions that their programs set.
const NIGHT: [(&str, Option<&str>); 4] =
    [("ann", None), ("claude", Some("night-1")), ("codex", Some("night-2")), ("gemini", Some("night-3"))];

/// Makes all sessions look as if a minute had passed.
fn pass_a_minute(scratch: &Scratch) {
    scratch.type_in("bd daemon stop");
    let path = scratch.root.path().join(".git/beads/sessions.json");
    let mut stored: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let past = |at: &mut serde_json::Value| *at = (at.as_u64().unwrap() - 65_000).into();
    stored["claims"].as_array_mut().unwrap().iter_mut().for_each(|claim| past(&mut claim["seen_ms"]));
    stored["sessions"].as_object_mut().unwrap().values_mut().for_each(|seen| past(&mut seen["at_ms"]));
    std::fs::write(&path, stored.to_string()).unwrap();
}

/// Replaces what differs from night to night: times, ages and the id of the memory.
fn without_chance(text: &str) -> String {
    let replaced = |word: &str| word.len() == 7 && word.starts_with("bd-") && !word.ends_with("docs");
    let line = |line: &str| {
        let line = match line.split_once("(claude, ") {
            Some((before, age)) if age.ends_with(" ago)") => format!("{before}(claude, AGE)"),
            _ => line.to_owned(),
        };
        let remembered = line.starts_with("remembered ");
        let word =
            |word: &str| if remembered && replaced(word) { "bd-ID".to_owned() } else { word.to_owned() };
        line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    without_times(text).lines().map(line).collect()
}

#[test]
fn a_night_with_three_agents_goes_as_printed() {
    let night = blocks(&page("docs/AGENTS.md"), "text");
    let night = night.iter().find(|block| block.contains("\nclaude$ ")).unwrap();
    let scratch = Scratch::new();
    let mut happened = String::new();
    for line in night.lines() {
        let typed = NIGHT.iter().find_map(|(actor, session)| {
            Some((*actor, *session, line.strip_prefix(actor)?.strip_prefix("$ ")?))
        });
        match typed {
            Some((actor, session, command)) => {
                happened.push_str(&format!("{line}\n{}", scratch.type_as(actor, session, command)));
            }
            None if line.starts_with("# ") => {
                happened.push_str(&format!("\n{line}\n"));
                if line.contains("A minute later") {
                    pass_a_minute(&scratch);
                }
            }
            // What a command printed.
            None => {}
        }
    }
    assert_eq!(without_chance(happened.trim_start()), without_chance(night));
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
