//! Answers that cannot be written: a full disk is an error, a closed pipe is not.

use std::fs::OpenOptions;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::team::Team;

fn run_with_full_output(team: &Team, args: &[&str]) -> String {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = team.agent(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
    assert!(said.starts_with("Error: cannot write to standard output"), "{args:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    said
}

#[test]
fn a_failed_write_is_an_error_that_names_what_was_changed() {
    let team = Team::of(&["amber", "birch"]);
    for args in [&["list"][..], &["list", "--json"], &["status", "--json"], &["list", "--help"]] {
        let said = run_with_full_output(&team, args);
        assert!(!said.contains("saved"), "{args:?}: {said}");
    }
    let said = run_with_full_output(&team, &["register", "--name", "cedar", "--role", "ui", "--json"]);
    assert!(said.contains("saved before that: cedar;"), "{said}");
    let send = ["send", "--from", "amber", "--to", "birch", "--bead", "bd-1", "--category", "INFO"];
    let said = run_with_full_output(&team, &[&send[..], &["--subject", "s", "--body", "b"]].concat());
    let inbox = team.ok(&["inbox", "--agent", "birch"]);
    assert!(said.contains(inbox[0]["message_id"].as_str().unwrap()), "{said}");
}

#[test]
fn a_closed_pipe_is_silent() {
    let team = Team::of(&["amber"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = team.agent(&["list"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(13), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
