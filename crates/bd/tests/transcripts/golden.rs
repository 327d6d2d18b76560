//! A golden file: Markdown with ```sh blocks that prepare a session and ```console blocks that show it.

use std::path::{Path, PathBuf};

use snapbox::Data;
use snapbox::assert::{Action, Assert};

use crate::session::Session;

/// Set to 1, it replaces the outputs in the golden files instead of comparing them.
const UPDATE: &str = "UPDATE_TRANSCRIPTS";

/// The command that accepts new outputs.
const COMMAND: &str = "UPDATE_TRANSCRIPTS=1 cargo test --workspace --test transcripts";

/// Replays a golden file and compares what happens with what it shows.
pub fn check(directory: &str, name: &str) {
    let path = path(directory, name);
    let text = read(&path);
    let action = if is_updating() { Action::Overwrite } else { Action::Verify };
    let actual = replay(&text, &Session::new());
    let result = Assert::new().action(action).try_eq(
        Some(&"what happened"),
        Data::text(actual),
        Data::read_from(&path, None).raw(),
    );
    if let Err(difference) = result {
        panic!("{difference}If this is what the commands should print, run {COMMAND}");
    }
}

/// Returns whether the golden files are being written.
pub fn is_updating() -> bool {
    std::env::var_os(UPDATE).is_some_and(|value| value == "1")
}

pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/golden")
}

pub fn path(directory: &str, name: &str) -> PathBuf {
    let file = format!("{}.md", name.trim_start_matches("r#"));
    self::directory().join(directory).join(file)
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the commands that a golden file shows.
pub fn commands(text: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((fence, "console")) = fence(line) {
            commands.extend(lines.by_ref().take_while(|line| *line != fence).filter_map(command));
        }
    }
    commands
}

/// Runs the commands of a golden file and returns the file with the outputs of this run.
fn replay(text: &str, session: &Session) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        push_line(&mut out, line);
        let Some((fence, language)) = fence(line) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != fence).collect();
        match language {
            "sh" => {
                session.prepare(&block.join("\n"));
                block.iter().for_each(|line| push_line(&mut out, line));
            }
            "console" => {
                for command in block.into_iter().filter_map(command) {
                    push_line(&mut out, &format!("$ {command}"));
                    out.push_str(&output(command, fence, session));
                }
            }
            _ => panic!("a block is neither sh nor console: {line}"),
        }
        push_line(&mut out, fence);
    }
    out
}

/// Runs a command and returns what it prints, which must not look like the next command or the end of the block.
fn output(command: &str, fence: &str, session: &Session) -> String {
    let shown = session.show(command);
    let ambiguous = shown.lines().find(|line| *line == fence || self::command(line).is_some());
    assert!(ambiguous.is_none(), "{command} prints {ambiguous:?}, which would end its output in the file");
    shown
}

/// Splits the first line of a block into its fence and its language.
fn fence(line: &str) -> Option<(&str, &str)> {
    let length = line.bytes().take_while(|byte| *byte == b'`').count();
    (length >= 3).then(|| line.split_at(length))
}

fn command(line: &str) -> Option<&str> {
    line.strip_prefix("$ ")
}

pub fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}
