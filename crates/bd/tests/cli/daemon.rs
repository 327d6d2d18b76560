//! Starting, stopping and replacing daemons.

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
    // It has its own session, so that closing the terminal does not end it.
    let session =
        rustix::process::getsid(rustix::process::Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
    assert_eq!(session.as_raw_nonzero().get(), i32::try_from(pid).unwrap());
    assert_eq!(bd.show(&id)["title"], "x");
    assert_eq!(bd.daemon_pid(), Some(pid), "one daemon for all commands");
}

#[test]
fn status_describes_the_daemon_and_never_fails() {
    let bd = sandbox();
    let status = bd.json(&["daemon", "status"]);
    assert_eq!(status["running"], false);
    assert!(status["pid"].is_null() && status["version"].is_null() && status["uptime"].is_null());
    assert_eq!(bd.text(&["daemon", "status"]), "not running\n");
    assert_eq!(bd.daemon_pid(), None, "daemon status starts no daemon");
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
fn only_the_owner_can_use_the_socket() {
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
    // The lock is released before the process exits.
    wait_until("the daemon exits", || !is_alive(pid));
    assert!(!bd.socket().exists());
    assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
    assert_eq!(bd.text(&["daemon", "stop"]), "not running\n", "stopping is idempotent");
    assert_eq!(bd.show(&id)["title"], "x");
    assert_ne!(bd.daemon_pid(), Some(pid));
}

/// A watching client starts a new daemon as soon as the old one is gone, and the new one takes the store.
#[test]
fn stopping_succeeds_even_if_a_new_daemon_starts_at_once() {
    let bd = sandbox();
    bd.create(&["one", "--id", "bd-1"]);
    let watch = ["watch", "--since", "0", "--json"];
    let mut watching = bd.command(&watch).stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..10 {
        bd.text(&["note", "bd-1", "once more"]);
        let before = bd.daemon_pid();
        let answer = bd.json(&["daemon", "stop"]);
        // Either no daemon or a new one.
        assert!(answer["pid"].is_null() || answer["pid"].as_u64() != before.map(u64::from), "{answer}");
        assert_eq!(answer["running"], !answer["pid"].is_null(), "{answer}");
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn sigterm_makes_it_save_and_exit() {
    let bd = sandbox();
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid().unwrap();
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    wait_until("the daemon exits", || !is_alive(pid));
    assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
    assert_eq!(bd.show(&id)["title"], "x");
}

#[test]
fn an_idle_daemon_exits() {
    let bd = sandbox();
    bd.text(&["config", "set", "daemon.idle", "50ms"]);
    bd.create(&["x"]);
    let socket = bd.socket();
    wait_until("the idle daemon exits", || !socket.exists());
    // No change was lost, and the next command starts a new daemon.
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
    assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
}

/// The second daemon is idle for as long as the first one, so its exit shows that the first one stays.
#[test]
fn an_idle_daemon_stays_where_it_brings_in_changes_of_others() {
    let (kept, control) = (sandbox(), sandbox());
    for (bd, keep) in [(&kept, "true"), (&control, "false")] {
        let there = bd.root().join("remote.git");
        git2::Repository::init_bare(&there).unwrap();
        bd.repository().remote("origin", there.to_str().unwrap()).unwrap();
        bd.text(&["config", "set", "sync.keep_daemon", keep]);
        bd.create(&["x"]);
        // Only a store that is shared has changes of others.
        bd.text(&["sync"]);
        bd.text(&["config", "set", "daemon.idle", "50ms"]);
    }
    let pid = kept.daemon_pid();
    assert!(pid.is_some());
    let socket = control.socket();
    wait_until("the idle daemon exits", || !socket.exists());
    control.create(&["y"]);
    wait_until("the next idle daemon exits", || !socket.exists());
    assert_eq!(kept.daemon_pid(), pid);
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
    // A plain file in place of the socket is not in use and may be removed.
    std::fs::write(&socket, "stale").unwrap();
    assert_eq!(bd.show(&id)["title"], "x");
    assert!(bd.daemon_pid().is_some());
}

#[test]
fn of_ten_daemons_started_at_once_one_remains() {
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
        // Daemons that lost the race may take a moment to exit.
        wait_until("one daemon is left", || daemons_of(&bd).len() == 1);
        assert_eq!(daemons_of(&bd), [pid], "{daemons:?}");
    }
}

/// Returns the processes that serve this sandbox's repository, found by their command line.
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
fn a_killed_daemon_is_replaced_by_the_next_command() {
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
fn a_runtime_directory_that_others_can_access_is_not_used() {
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
        assert_eq!(bd.show(&id)["title"], "x", "{name}: the command opens the store itself");
        assert_eq!(bd.daemon_pid(), None, "{name}");
        assert!(daemons_of(&bd).is_empty(), "{name}");
    }
}

#[test]
fn commands_work_where_no_socket_can_be_created() {
    let bd = sandbox();
    let long = bd.root().join("x".repeat(120));
    for directory in [bd.root().join("no/such/parent"), long] {
        let run = |args: &[&str]| Run::of(bd.command(args).env("BD_RUNTIME_DIR", &directory)).succeeded(args);
        let id = run(&["create", "x", "--json"]).value()["id"].as_str().unwrap().to_owned();
        assert_eq!(run(&["show", &id, "--json"]).value()[0]["title"], "x");
        wait_until("no daemon is left", || daemons_of(&bd).is_empty());
    }
}

/// With `--no-daemon`, a command still asks the daemon that holds the store.
#[test]
fn a_running_daemon_is_used_even_with_no_daemon() {
    let bd = sandbox();
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid();
    assert_eq!(bd.json(&["--no-daemon", "show", &id])[0]["title"], "x");
    bd.json(&["--no-daemon", "update", &id, "--title", "y"]);
    assert_eq!(bd.show(&id)["title"], "y");
    assert_eq!(bd.daemon_pid(), pid);
}

#[test]
fn no_daemon_is_started_with_no_daemon() {
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
