//! The life of a daemon.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use crate::sandbox::{Mode, Run, Sandbox, is_alive, kill, set_mode, wait_until};

fn sandbox() -> Sandbox {
    Sandbox::new(Mode::Daemon)
}

#[test]
fn the_first_command_starts_it_and_it_survives_its_starter() {
    let bd = sandbox();
    assert_eq!(bd.daemon_pid(), None);
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid().expect("a daemon runs after the first command");
    assert!(is_alive(pid));
    // A session of its own: a terminal that closes does not take it along.
    let session =
        rustix::process::getsid(rustix::process::Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
    assert_eq!(session.as_raw_nonzero().get(), i32::try_from(pid).unwrap());
    assert_eq!(bd.show(&id)["title"], "x");
    assert_eq!(bd.daemon_pid(), Some(pid), "one daemon for all commands");
}

#[test]
fn status_tells_all_about_it_and_never_fails() {
    let bd = sandbox();
    let status = bd.json(&["daemon", "status"]);
    assert_eq!(status["running"], false);
    assert!(status["pid"].is_null() && status["version"].is_null() && status["uptime"].is_null());
    assert_eq!(bd.text(&["daemon", "status"]), "not running\n");
    assert_eq!(bd.daemon_pid(), None, "asking starts nothing");
    bd.create(&["x"]);
    let status = bd.json(&["daemon", "status"]);
    assert_eq!(status["running"], true);
    assert!(status["pid"].is_u64() && status["uptime"].is_u64());
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["socket"], bd.socket().to_str().unwrap());
    assert!(bd.text(&["daemon", "status"]).contains(&status["pid"].to_string()));
    let nowhere = Sandbox::without_repository(Mode::Daemon);
    assert_eq!(nowhere.json(&["daemon", "status"])["running"], false);
}

#[test]
fn the_socket_is_for_its_owner_alone() {
    let bd = sandbox();
    bd.create(&["x"]);
    let metadata = std::fs::symlink_metadata(bd.socket()).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(metadata.uid(), rustix::process::getuid().as_raw());
}

#[test]
fn stopping_saves_and_ends_it() {
    let bd = sandbox();
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid().unwrap();
    assert_eq!(bd.text(&["daemon", "stop"]), "stopped\n");
    // The lock is free again, and the process on its way out.
    wait_until("the daemon ends", || !is_alive(pid));
    assert!(!bd.socket().exists());
    assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
    assert_eq!(bd.text(&["daemon", "stop"]), "not running\n", "stopping what does not run is fine");
    assert_eq!(bd.show(&id)["title"], "x");
    assert_ne!(bd.daemon_pid(), Some(pid));
}

/// Who watches starts the next one as soon as one is gone, and that one keeps the store.
#[test]
fn stopping_is_done_when_the_next_one_is_there() {
    let bd = sandbox();
    bd.create(&["one", "--id", "bd-1"]);
    let watch = ["watch", "--since", "0", "--json"];
    let mut watching = bd.command(&watch).stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..10 {
        bd.text(&["note", "bd-1", "once more"]);
        let before = bd.daemon_pid();
        let told = bd.json(&["daemon", "stop"]);
        // None, or the next one, and nothing else.
        assert!(told["pid"].is_null() || told["pid"].as_u64() != before.map(u64::from), "{told}");
        assert_eq!(told["running"], !told["pid"].is_null(), "{told}");
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_polite_signal_makes_it_save_and_leave() {
    let bd = sandbox();
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid().unwrap();
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    wait_until("the daemon ends", || !is_alive(pid));
    assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
    assert_eq!(bd.show(&id)["title"], "x");
}

#[test]
fn it_leaves_when_nobody_asks_anything() {
    let bd = sandbox();
    bd.text(&["config", "set", "daemon.idle", "50ms"]);
    bd.create(&["x"]);
    let socket = bd.socket();
    wait_until("the daemon is idle and leaves", || !socket.exists());
    // Nothing was lost, and the next command starts the next one.
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
    assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
}

#[test]
fn a_socket_left_behind_is_cleaned_up() {
    let bd = sandbox();
    let socket = bd.socket();
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let id = bd.create(&["x"]);
    assert!(bd.daemon_pid().is_some());
    bd.text(&["daemon", "stop"]);
    // Not even a socket: whatever lies there is in nobody's use.
    std::fs::write(&socket, "stale").unwrap();
    assert_eq!(bd.show(&id)["title"], "x");
    assert!(bd.daemon_pid().is_some());
}

#[test]
fn ten_that_start_at_once_end_as_one() {
    for _ in 0..3 {
        let bd = sandbox();
        let children: Vec<_> =
            (0..10).map(|n| bd.command(&["create", &format!("n{n}"), "--json"]).spawn().unwrap()).collect();
        for child in children {
            Run::finish(child).succeeded("create");
        }
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 10);
        let pid = bd.daemon_pid().unwrap();
        let daemons = daemons_of(&bd);
        // Those that lost the race may take a moment to be gone.
        wait_until("one daemon is left", || daemons_of(&bd).len() == 1);
        assert_eq!(daemons_of(&bd), [pid], "{daemons:?}");
    }
}

/// Processes that serve this sandbox's repository, found by their command line.
fn daemons_of(bd: &Sandbox) -> Vec<u32> {
    let store = bd.dir().to_str().unwrap().to_owned();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains("daemon\0run") && line.contains(&store)
        })
        .collect()
}

#[test]
fn a_daemon_that_was_killed_is_replaced_at_the_first_try() {
    let bd = sandbox();
    for round in 0..10 {
        let id = bd.create(&[&format!("round {round}")]);
        let pid = bd.daemon_pid().unwrap();
        kill(pid);
        assert_eq!(bd.show(&id)["title"], format!("round {round}"));
        assert_ne!(bd.daemon_pid(), Some(pid));
    }
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 10);
    assert_eq!(bd.json(&["validate"]), serde_json::json!([]));
}

#[test]
fn a_runtime_directory_that_is_not_ours_alone_is_not_used() {
    let open = |bd: &Sandbox| set_mode(&bd.runtime_dir(), 0o755);
    let linked = |bd: &Sandbox| {
        std::fs::rename(bd.runtime_dir(), bd.root().join("elsewhere")).unwrap();
        symlink(bd.root().join("elsewhere"), bd.runtime_dir()).unwrap();
    };
    let file = |bd: &Sandbox| {
        std::fs::remove_dir(bd.runtime_dir()).unwrap();
        std::fs::write(bd.runtime_dir(), "").unwrap();
    };
    let cases = [("open", &open as &dyn Fn(&Sandbox)), ("linked", &linked), ("file", &file)];
    for (name, spoil) in cases {
        let bd = sandbox();
        spoil(&bd);
        let id = bd.create(&["x"]);
        assert_eq!(bd.show(&id)["title"], "x", "{name}: the command does the work itself");
        assert_eq!(bd.daemon_pid(), None, "{name}");
        assert!(daemons_of(&bd).is_empty(), "{name}");
    }
}

#[test]
fn where_no_socket_can_be_commands_work_all_the_same() {
    let bd = sandbox();
    let long = bd.root().join("x".repeat(120));
    for directory in [bd.root().join("no/such/parent"), long] {
        let run = |args: &[&str]| Run::of(bd.command(args).env("BD_RUNTIME_DIR", &directory)).succeeded(args);
        let id = run(&["create", "x", "--json"]).value()["id"].as_str().unwrap().to_owned();
        assert_eq!(run(&["show", &id, "--json"]).value()[0]["title"], "x");
        wait_until("no daemon is left", || daemons_of(&bd).is_empty());
    }
}

/// A command without a daemon asks the one that holds the store.
#[test]
fn a_running_daemon_answers_those_that_want_none() {
    let bd = sandbox();
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid();
    assert_eq!(bd.json(&["--no-daemon", "show", &id])[0]["title"], "x");
    bd.json(&["--no-daemon", "update", &id, "--title", "y"]);
    assert_eq!(bd.show(&id)["title"], "y");
    assert_eq!(bd.daemon_pid(), pid);
}

#[test]
fn no_daemon_is_started_where_none_is_wanted() {
    let bd = sandbox();
    for (name, title) in [("BD_NO_DAEMON", "apples"), ("BEADS_NO_DAEMON", "pears")] {
        Run::of(bd.command(&["create", title]).env(name, "1")).succeeded(name);
        assert_eq!(bd.daemon_pid(), None, "{name}");
    }
    bd.text(&["--no-daemon", "create", "plums"]);
    assert_eq!(bd.daemon_pid(), None);
    Run::of(bd.command(&["create", "cherries"]).env("BD_NO_DAEMON", "0")).succeeded("0");
    assert!(bd.daemon_pid().is_some());
}
