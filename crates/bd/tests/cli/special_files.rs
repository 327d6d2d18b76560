//! Paths that a client names: pipes and devices, relative paths, and links that lead out of the repository.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bystander::Bystander;
use crate::sandbox::{Mode, Run, Sandbox, both, is_alive, wait_until};
use crate::socket::Client;

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn import(source: &Value) -> Value {
    json!({"import": {"source": source, "dry_run": false}})
}

/// The daemon's working directory is `/`: it would resolve a relative path there.
#[test]
fn the_daemon_takes_no_relative_paths_and_writes_no_files_for_clients() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["x"]);
    let mut client = Client::connect(&bd.socket()).unwrap();
    let outside = bd.root().join("outside");
    std::fs::write(&outside, "precious").unwrap();
    let lines = bd.root().join("issues.jsonl");
    std::fs::write(&lines, "").unwrap();
    let source = json!({"jsonl": {"path": lines, "name": "n"}});
    let calls = [
        json!({"export": {"format": "jsonl", "path": outside}}),
        json!({"export": {"format": "jsonl", "path": "tmp/bd-must-not-be-written"}}),
        json!({"wait": {"ms": 1, "call": {"export": {"format": "jsonl", "path": outside}}}}),
        json!({"import": {"source": source, "dry_run": true, "report": outside}}),
        import(&json!({"jsonl": {"path": "issues.jsonl", "name": "n"}})),
        import(&json!({"jsonl": {"path": lines, "name": "n", "deletions": "deletions.jsonl"}})),
        import(&json!({"legacy_store": {"directory": "old"}})),
        json!({"compare_file": {"path": "issues.jsonl", "name": "n"}}),
        json!({"import_rescued": {"path": "x.journal", "force": false, "dry_run": true}}),
    ];
    for call in calls {
        let reply = client.ask(&call).unwrap();
        assert_eq!(reply["error"]["code"], "invalid_value", "{call}: {reply}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    assert!(!Path::new("/tmp/bd-must-not-be-written").exists());
}

#[test]
fn reading_a_pipe_or_a_device_does_not_block_others() {
    let bd = Sandbox::new(Mode::Daemon);
    let bystander = Bystander::of(&bd);
    let (fifo, old) = (bd.root().join("fifo"), bd.root().join("old"));
    pipe(&fifo);
    std::fs::create_dir(&old).unwrap();
    pipe(&old.join("state.jsonl"));
    let jsonl = |path: &Path| json!({"jsonl": {"path": path, "name": "n"}});
    let calls = [
        import(&jsonl(&fifo)),
        import(&jsonl(Path::new("/dev/zero"))),
        import(&jsonl(&old)),
        import(&json!({"legacy_store": {"directory": old}})),
        json!({"compare_file": {"path": fifo, "name": "n"}}),
        json!({"import_rescued": {"path": fifo, "force": true, "dry_run": true}}),
        json!({"import_rescued": {"path": "/dev/zero", "force": true, "dry_run": true}}),
    ];
    let mut client = Client::connect(&bd.socket()).unwrap();
    for call in calls {
        let reply = client.ask(&call).unwrap();
        assert_eq!(reply["error"]["code"], "io_error", "{call}: {reply}");
        bystander.is_served(&call.to_string());
    }
    assert_eq!(bd.daemon_pid(), Some(bystander.pid));
    kill_process(Pid::from_raw(i32::try_from(bystander.pid).unwrap()).unwrap(), Signal::TERM).unwrap();
    wait_until("the daemon exits", || !is_alive(bystander.pid));
}

/// The copy of a pipe or a device may be large. A killed import leaves no copy, and the next import removes its directory;
/// but not that of an import that is still running.
#[test]
fn a_killed_import_leaves_no_copy_of_its_input() {
    let bd = Sandbox::new(Mode::Daemon);
    let scratch = bd.root().join("tmp");
    std::fs::create_dir(&scratch).unwrap();
    let directories = || -> Vec<PathBuf> {
        std::fs::read_dir(&scratch).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let command = || {
        let mut command = bd.command(&["import", "-", "--json"]);
        command.env("TMPDIR", &scratch).stdin(Stdio::piped());
        command
    };
    let mut copying = command().spawn().unwrap();
    let mut input = copying.stdin.take().unwrap();
    // More than fits into the pipe, so part of it has been read, and copied.
    input.write_all(&vec![b'x'; 1 << 20]).unwrap();
    let [directory] = &directories()[..] else { panic!("{:?}", directories()) };
    let two_hours_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    let age = || std::fs::File::open(directory).unwrap().set_modified(two_hours_ago).unwrap();
    age();
    Run::finish(command().spawn().unwrap()).succeeded("import -");
    assert_eq!(directories(), [directory.as_path()], "its import is still running");

    copying.kill().unwrap();
    copying.wait().unwrap();
    if has_files_without_a_name(&scratch) {
        assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0, "the copy vanished with the process");
    }
    std::fs::write(directory.join("issues.jsonl"), "left where files without a name are not supported")
        .unwrap();
    age();
    Run::finish(command().spawn().unwrap()).succeeded("import -");
    assert!(directories().is_empty(), "{:?}", directories());
}

/// Returns whether a file system has files without a name. Some overlays have none.
#[cfg(target_os = "linux")]
fn has_files_without_a_name(directory: &Path) -> bool {
    use rustix::fs::{Mode, OFlags, open};

    open(directory, OFlags::WRONLY | OFlags::TMPFILE, Mode::RUSR).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn has_files_without_a_name(_directory: &Path) -> bool {
    false
}

/// The command that writes to a pipe waits for its reader; the daemon does not.
#[test]
fn a_pipe_to_write_is_written_by_the_command_itself() {
    let bd = Sandbox::new(Mode::Daemon);
    let bystander = Bystander::of(&bd);
    let fifo = bd.dir().join("fifo");
    pipe(&fifo);
    let child = bd.command(&["export", "-o", "fifo", "--json"]).spawn().unwrap();
    bystander.is_served("an export into a pipe");
    let mut content = String::new();
    std::fs::File::open(&fifo).unwrap().read_to_string(&mut content).unwrap();
    let run = Run::finish(child).succeeded("export");
    assert_eq!(run.value()["beads"], 1);
    assert_eq!(content, bd.text(&["export"]));
    both(|bd| {
        bd.create(&["x"]);
        let content = bd.text(&["export"]);
        assert!(!content.is_empty());
        assert_eq!(bd.text(&["export", "-o", "/dev/stdout"]), content);
    });
}

#[test]
fn a_pipe_at_export_path_is_refused_or_skipped_if_created_later() {
    let bd = Sandbox::new(Mode::Daemon);
    let bystander = Bystander::of(&bd);
    bd.json(&["config", "set", "sync.quiet", "0s"]);
    pipe(&bd.dir().join("fifo"));
    let error = bd.error(&["config", "set", "export.path", "fifo"], "invalid_value");
    assert!(error["message"].as_str().unwrap().contains("not a regular file"), "{error}");
    assert_eq!(bd.json(&["config", "get", "export.path"])["value"], "", "the setting is unchanged");
    bd.json(&["config", "set", "export.path", "issues.jsonl"]);
    std::fs::remove_file(bd.dir().join("issues.jsonl")).unwrap();
    pipe(&bd.dir().join("issues.jsonl"));
    for n in 0..3 {
        bd.create(&[&format!("bead {n}")]);
        bd.json(&["sync"]);
        bystander.is_served("changes with a pipe at export.path");
    }
    bd.json(&["daemon", "stop"]);
    wait_until("the daemon exits", || !is_alive(bystander.pid));
}

/// git's index cannot be asked for these names. The daemon asked, and a panic ended it.
#[test]
fn an_export_path_that_no_index_can_hold_does_not_end_the_daemon() {
    let bd = Sandbox::new(Mode::Daemon);
    let bystander = Bystander::of(&bd);
    let mut client = Client::connect(&bd.socket()).unwrap();
    for path in ["a\0b", "../a\0b", "../beside.jsonl", "..", "."] {
        client.ask(&json!({"config_set": {"key": "export.path", "value": path}})).unwrap();
        bystander.is_served(path);
    }
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the daemon was not replaced");
}

/// A clone can contain links.
#[test]
fn links_that_lead_out_of_the_repository_are_not_followed() {
    both(|bd| {
        let outside = bd.root().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "precious").unwrap();
        symlink(&outside, bd.dir().join(".beads")).unwrap();
        symlink(outside.join("file"), bd.dir().join("AGENTS.md")).unwrap();
        symlink(outside.join("new"), bd.dir().join("dangling")).unwrap();
        symlink(&outside, bd.dir().join(".claude")).unwrap();
        bd.error(&["config", "set", "export.path", ".beads/issues.jsonl"], "invalid_value");
        bd.error(&["config", "set", "export.path", "dangling"], "invalid_value");
        bd.error(&["init", "--compat"], "io_error");
        for client in ["generic", "claude"] {
            bd.error(&["setup", client], "cannot_edit");
        }
        let left: Vec<_> =
            std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["file"]);
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "precious");
        // Links within the repository are legitimate and common.
        for name in [".beads", "AGENTS.md", ".claude"] {
            std::fs::remove_file(bd.dir().join(name)).unwrap();
        }
        std::fs::write(bd.dir().join("CLAUDE.md"), "# Rules\n").unwrap();
        symlink("CLAUDE.md", bd.dir().join("AGENTS.md")).unwrap();
        bd.json(&["setup", "generic"]);
        assert!(std::fs::read_to_string(bd.dir().join("CLAUDE.md")).unwrap().contains("BEGIN BEADS"));
        assert!(bd.dir().join("AGENTS.md").is_symlink());
        // The user may name a path outside the repository.
        bd.json(&["config", "set", "export.path", text(&outside.join("issues.jsonl"))]);
        assert!(outside.join("issues.jsonl").is_file());
    });
}

/// `bb` in a repository whose clone contained a link in place of its store.
#[test]
fn bb_does_not_follow_a_link_out_of_the_repository() {
    let bd = Sandbox::new(Mode::Embedded);
    let outside = bd.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let bb = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bb"));
        command.args(args).current_dir(bd.dir()).env_clear().env("HOME", bd.root().join("home"));
        command.output().unwrap()
    };
    let register = ["agent", "register", "--name", "amber", "--role", "ui", "--json"];
    symlink(&outside, bd.dir().join(".beadboard")).unwrap();
    let said = bb(&register);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let hook = bb(&["agent", "guard", "--hook", "--agent", "amber", "file.txt"]);
    assert_eq!(hook.status.code(), Some(0), "a hook fails open: {hook:?}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::remove_file(bd.dir().join(".beadboard")).unwrap();
    std::fs::create_dir_all(bd.dir().join(".beadboard/agent")).unwrap();
    symlink(&outside, bd.dir().join(".beadboard/agent/agents")).unwrap();
    assert_eq!(bb(&register).status.code(), Some(1));
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
