//! Runs the transcript in `docs/BB.md`.

use std::process::Command;

use crate::team::{Team, ran};

/// Whether the `bd` lines of the transcript are run as well: set this once `bd claim` exists.
const RUN_BD: bool = true;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/BB.md");

/// Returns the commands of the blocks marked `console workflow`, each with the lines it prints.
fn transcript() -> Vec<(String, String)> {
    let doc = std::fs::read_to_string(DOC).unwrap();
    let mut steps: Vec<(String, String)> = Vec::new();
    for block in doc.split("```console workflow\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => *output += &format!("{line}\n"),
                (None, None) => panic!("output before the first command: {line}"),
            }
        }
    }
    steps
}

/// Splits a line into words as a shell would. The transcript uses double quotes only.
fn words(line: &str) -> Vec<String> {
    let quoted = line.split('"').enumerate();
    quoted
        .flat_map(|(n, part)| match n % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[test]
fn the_documented_workflow() {
    let mut team = Team::of(&[]);
    git2::Repository::init(team.dir()).unwrap();
    let steps = transcript();
    assert!(steps.len() > 12, "the transcript is in {DOC}");
    for (minute, (line, expected)) in steps.into_iter().enumerate() {
        team.at(&format!("2026-02-13T22:{minute:02}:00Z"));
        let words = words(&line);
        let command = match words[0].as_str() {
            "bb" => {
                let mut command = team.bb(&words[1..]);
                command.env_remove("BB_AGENT_ROOT").env("BB_ID", "7f3c");
                command
            }
            "bd" if RUN_BD => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_bd"));
                command.args(&words[1..]).current_dir(team.dir()).env("HOME", team.dir().join("home"));
                command.env("BD_NO_DAEMON", "1");
                command
            }
            "bd" => continue,
            other => panic!("the transcript runs {other}"),
        };
        let said = ran(command);
        if words[0] == "bd" {
            assert_eq!(said.exit, 0, "$ {line}\n{said:?}");
            continue;
        }
        assert_eq!(format!("{}{}", said.out, said.err), expected, "$ {line}");
        assert_eq!(said.exit == 0, !expected.starts_with("Error:"), "$ {line}");
    }
}

#[test]
fn the_reference_names_every_code_and_command() {
    let doc = std::fs::read_to_string(DOC).unwrap();
    for word in [
        "INVALID_ARGS",
        "AGENT_NOT_FOUND",
        "DUPLICATE_AGENT_ID",
        "UNKNOWN_SENDER",
        "UNKNOWN_RECIPIENT",
        "MISSING_BEAD_ID",
        "INVALID_CATEGORY",
        "MESSAGE_NOT_FOUND",
        "ACK_FORBIDDEN",
        "RESERVATION_CONFLICT",
        "RESERVATION_STALE_FOUND",
        "RESERVATION_NOT_FOUND",
        "RELEASE_FORBIDDEN",
        "IO_WRITE_FAILED",
        "IO_READ_FAILED",
        "`register`",
        "`list`",
        "`show`",
        "`heartbeat`",
        "`send`",
        "`inbox`",
        "`read`",
        "`ack`",
        "`reserve`",
        "`release`",
        "`status`",
        "`guard`",
    ] {
        assert!(doc.contains(word), "{word}");
    }
}
