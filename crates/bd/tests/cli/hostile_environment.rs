//! A hostile environment: other users on the socket, files planted in its place, and many idle connections.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use beads_engine::daemon::{MAX_CONNECTIONS, MAX_FRAME_BYTES, MAX_WAITERS};
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};
use serde_json::json;

use crate::sandbox::{Mode, Sandbox, set_mode};
use crate::socket::Client;

/// The limit on open files: enough for both ends of all connections.
const FILES: u64 = 4_096;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// Raises the limit on open files, which the daemon inherits. Returns `false`, and prints why, where the
/// system does not allow it.
fn raise_file_limit() -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|maximum| maximum < FILES) {
        eprintln!("skipped: no process may have {FILES} open files here");
        return false;
    }
    let current = limit.current.map_or(FILES, |current| current.max(FILES));
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum }).unwrap();
    true
}

fn serving() -> (Sandbox, u32) {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["x", "--id", "bd-1"]);
    let pid = bd.daemon_pid().unwrap();
    (bd, pid)
}

/// Asserts that the same daemon still answers reads and writes of other clients.
fn assert_others_are_served(bd: &Sandbox, pid: u32) {
    let id = bd.create(&["meanwhile"]);
    assert_eq!(bd.show(&id)["title"], "meanwhile");
    assert_eq!(bd.daemon_pid(), Some(pid), "the daemon was not replaced");
}

fn crowd(bd: &Sandbox, size: usize) -> Vec<Client> {
    let socket = bd.socket();
    (0..size).map(|_| Client::connect(&socket).expect("space in the backlog")).collect()
}

#[test]
fn idle_connections_do_not_delay_others() {
    if !raise_file_limit() {
        return;
    }
    let (bd, pid) = serving();
    let mut idle = crowd(&bd, 1_000);
    assert_others_are_served(&bd, pid);
    // Every client stops in the middle of a frame.
    idle.iter_mut().for_each(|client| client.send(b"{").unwrap());
    assert_others_are_served(&bd, pid);
    assert!(bd.json(&["daemon", "status"])["connections"].as_u64().unwrap() >= 1_000);
}

#[test]
fn a_connection_above_the_limit_is_refused_and_others_continue() {
    if !raise_file_limit() {
        return;
    }
    let (bd, _) = serving();
    let socket = bd.socket();
    let mut clients = crowd(&bd, MAX_CONNECTIONS);
    let mut late = Client::connect(&socket).unwrap();
    let status = json!({"query": "status"});
    assert_eq!(late.ask(&status).unwrap()["error"]["code"], "busy");
    assert_eq!(clients[7].ask(&status).unwrap()["exit"], 0, "existing clients are still served");
    drop((clients.split_off(1_000), late));
    // The daemon notices disconnections one by one.
    crate::sandbox::wait_until("a newcomer is served", || {
        Client::connect(&socket).and_then(|mut new| new.ask(&status)).is_some_and(|reply| reply["exit"] == 0)
    });
}

#[test]
fn a_waiter_above_the_limit_is_refused_and_others_continue() {
    if !raise_file_limit() {
        return;
    }
    let (bd, pid) = serving();
    bd.json(&["claim", "bd-1"]);
    // Some more than the limit: the daemon accepts them in any order, mixed with the later clients below.
    let mut waiting = crowd(&bd, MAX_WAITERS + 16);
    let wait = |ms: u64| json!({"wait": {"ms": ms, "call": {"query": {"events": {"since": null}}}}});
    let request = json!({"client": "0", "actor": "a", "call": wait(60_000), "output": {"format": "value"}});
    let line = format!("{request}\n");
    waiting.iter_mut().for_each(|client| client.send(line.as_bytes()).unwrap());
    crate::sandbox::wait_until("another waiter is refused", || {
        let newcomer = Client::connect(&bd.socket());
        newcomer.and_then(|mut new| new.ask(&wait(1))).is_some_and(|reply| reply["error"]["code"] == "busy")
    });
    assert_others_are_served(&bd, pid);
}

#[test]
fn the_largest_frame_is_answered_while_others_are_served() {
    let (bd, pid) = serving();
    let mut large = Client::connect(&bd.socket()).unwrap();
    let request = json!({
        "client": "0", "actor": "a", "call": {"query": "status"}, "output": {"format": "value"},
    });
    let padding = " ".repeat(MAX_FRAME_BYTES - request.to_string().len() - 1);
    let frame = format!("{padding}{request}\n");
    let (first, rest) = frame.as_bytes().split_at(MAX_FRAME_BYTES / 2);
    large.send(first).unwrap();
    assert_others_are_served(&bd, pid);
    large.send(rest).unwrap();
    assert_eq!(large.receive().unwrap()["exit"], 0);
    assert_others_are_served(&bd, pid);
}

/// A link in place of the socket is removed, and its target is left unchanged.
#[test]
fn a_link_in_place_of_the_socket_is_not_followed() {
    let bd = Sandbox::new(Mode::Daemon);
    let socket = bd.socket();
    let victim = bd.root().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    for target in [&victim, &bd.root().join("nowhere")] {
        symlink(target, &socket).unwrap();
        let id = bd.create(&["x"]);
        assert_eq!(bd.show(&id)["title"], "x");
        assert!(bd.daemon_pid().is_some());
        assert!(!std::fs::symlink_metadata(&socket).unwrap().is_symlink());
        bd.text(&["daemon", "stop"]);
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!bd.root().join("nowhere").exists());
    // The link points to a socket that was left behind: nothing listens there any more.
    symlink(bd.root().join("other"), &socket).unwrap();
    drop(UnixListener::bind(bd.root().join("other")).unwrap());
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
}

/// Even if file permissions let another user connect, the daemon checks the peer's user id.
#[test]
fn a_foreign_user_is_not_answered() {
    if !getuid().is_root() {
        eprintln!("skipped: only root can connect as another user");
        return;
    }
    let (bd, pid) = serving();
    let socket = bd.socket();
    for (path, mode) in [(bd.root(), 0o755), (bd.runtime_dir(), 0o755), (socket.clone(), 0o666)] {
        set_mode(&path, mode);
    }
    let script = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1])\n\
        try:\n    s.sendall(sys.argv[2].encode() + b'\\n'); print(s.recv(100))\n\
        except (BrokenPipeError, ConnectionResetError): print(b'')\n";
    let request = json!({
        "client": "0", "actor": "a", "call": {"query": "status"}, "output": {"format": "value"},
    });
    let connect_as = |uid: u32| {
        let mut python = Command::new("python3");
        python.args(["-c", script]).arg(&socket).arg(request.to_string()).current_dir("/").uid(uid);
        python.output()
    };
    let Ok(ours) = connect_as(0) else {
        eprintln!("skipped: this test connects with python3");
        return;
    };
    assert!(String::from_utf8_lossy(&ours.stdout).contains("position"), "{ours:?}");
    let theirs = connect_as(NOBODY).unwrap();
    assert_eq!(String::from_utf8_lossy(&theirs.stdout), "b''\n", "{theirs:?}");
    set_mode(&bd.runtime_dir(), 0o700);
    assert_others_are_served(&bd, pid);
}
