//! Answers that cannot be written: a full disk is an error, a closed pipe is not.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::sandbox::{Run, Sandbox, both};

/// Runs a command whose output goes to a full disk.
fn to_full_disk(mut command: Command, input: &str) -> Run {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(full).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Run::finish(child)
}

fn run_with_full_output(bd: &Sandbox, args: &[&str], input: &str) -> String {
    let run = to_full_disk(bd.command(args), input);
    assert_eq!(run.exit, Some(1), "{args:?}: {run:?}");
    run.assert_one_error_line();
    assert!(run.stderr.contains("cannot write to standard output"), "{args:?}: {run:?}");
    run.stderr
}

#[test]
fn a_failed_write_is_an_error() {
    both(|bd| {
        bd.create(&["first"]);
        for args in [
            &["export"][..],
            &["list"],
            &["list", "--json"],
            &["status"],
            &["--help"],
            &["where", "--json"],
            &["tool"],
            &["tool", "beads.list"],
            &["tool", "beads.list", "--schema"],
            &["watch", "--since", "0", "--timeout", "0"],
            &["quickstart"],
        ] {
            let said = run_with_full_output(bd, args, "{}");
            assert!(!said.contains("saved"), "{args:?}: {said}");
        }
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        run_with_full_output(bd, &["mcp"], &format!("{hello}\n"));
    });
}

#[test]
fn after_a_change_the_error_names_what_was_changed() {
    both(|bd| {
        let id = bd.create(&["first"]);
        for args in [
            &["update", &id, "--title", "second"][..],
            &["update", &id, "--title", "third", "--json"],
            &["note", "add", &id, "a note", "--json"],
            &["close", &id, "--json"],
            &["reopen", &id, "--json=compat"],
            &["undo"],
        ] {
            let said = run_with_full_output(bd, args, "");
            assert!(said.contains(&format!("saved before that: {id};")), "{args:?}: {said}");
        }
        let edit = json!({"id": id, "title": "fourth"});
        let said = run_with_full_output(bd, &["tool", "beads.update", "--apply"], &edit.to_string());
        assert!(said.contains(&id), "{said}");
        let said = run_with_full_output(bd, &["tool", "beads.update"], &edit.to_string());
        assert!(!said.contains("saved"), "nothing was applied: {said}");
        assert_eq!(bd.show(&id)["title"], "fourth");
        // A batch stops at the first answer that cannot be written.
        let said = run_with_full_output(
            bd,
            &["batch"],
            &json!({"op": "update", "id": id, "title": "fifth"}).to_string(),
        );
        assert!(said.contains(&id), "{said}");

        let said = run_with_full_output(bd, &["create", "created unseen"], "");
        let created = bd.ids(&["search", "created unseen"]);
        assert!(said.contains(&format!("saved before that: {};", created[0])), "{said}");
        // If only some of several beads were changed, the error names them.
        let run = to_full_disk(bd.command(&["close", &id, "bd-none", "--json"]), "");
        assert_eq!(run.exit, Some(1), "{run:?}");
        assert!(run.stderr.contains(&format!("saved before that: {id};")), "{run:?}");
    });
}

#[test]
fn a_closed_pipe_is_silent() {
    both(|bd| {
        bd.create(&["first"]);
        for args in [&["list"][..], &["list", "--json"], &["create", "second"], &["tool", "beads.list"]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut child = bd.command(args).stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
            child.stdin.take().unwrap().write_all(b"{}").unwrap_or_default();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.signal(), Some(13), "{args:?}: {output:?}");
            assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
        }
        assert_eq!(bd.ids(&["list"]).len(), 2);
    });
}
