//! A session that outlives the program file it was started from.

use std::path::Path;

use serde_json::json;

use super::client::Client;
use crate::sandbox::{Mode, Sandbox, set_mode};

/// Copies the program in another process: a file that this process writes cannot be run while a command that
/// another test just started still has it open.
fn install(path: &Path) {
    let fresh = path.with_extension("new");
    let copied = std::process::Command::new("cp")
        .args([env!("CARGO_BIN_EXE_bd").as_ref(), fresh.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    set_mode(&fresh, 0o755);
    std::fs::rename(&fresh, path).unwrap();
}

/// Starts a session with a copy of the program.
fn session(bd: &Sandbox, program: &Path) -> Client {
    let like = bd.command(&["mcp", "--toolset", "full"]);
    let mut command = std::process::Command::new(program);
    command.args(like.get_args()).current_dir(bd.dir()).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    Client::start_with(command)
}

#[test]
fn a_session_starts_the_daemon_of_the_program_that_replaced_its_own() {
    let bd = Sandbox::new(Mode::Daemon);
    let program = bd.root().join("installed-bd");
    install(&program);
    let mut client = session(&bd, &program);
    client.call("make", json!({"title": "before"}));
    install(&program);
    bd.text(&["daemon", "stop"]);
    let said = client.call("make", json!({"title": "after"}));
    assert!(!said.contains("RESTART_NEEDED"), "{said}");
    assert!(bd.daemon_pid().is_some(), "the call started a daemon");
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_session_whose_program_was_deleted_says_so_in_every_answer() {
    let bd = Sandbox::new(Mode::Daemon);
    let program = bd.root().join("installed-bd");
    install(&program);
    let mut client = session(&bd, &program);
    client.call("make", json!({"title": "before"}));
    std::fs::remove_file(&program).unwrap();
    bd.text(&["daemon", "stop"]);
    for said in [
        client.call("make", json!({"title": "after"})),
        client.call("status", json!({})),
        client.fail("done", json!({"id": "bd-none", "reason": "x"})),
        client.call("beads_list", json!({})),
    ] {
        assert!(said.contains("RESTART_NEEDED"), "{said}");
    }
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2, "created beads are kept");
}
