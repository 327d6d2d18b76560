//! Daemons that hold the store and do not answer: every wait has a limit, and the error names the process
//! that holds the store.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Instant;

use beads_store::StoreLock;
use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Mode, PATIENCE, Run, Sandbox};

/// A process that is stopped with SIGSTOP and continued at the end of the test.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> Self {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

#[test]
fn a_suspended_daemon_is_waited_for_no_longer_than_requested() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid().unwrap();
    let stopped = Stopped::new(pid);
    for args in [
        &["list"][..],
        &["create", "y"],
        &["claim", &id, "--lock-timeout", "1s"],
        &["claim", "--next", "--wait", "1s"],
        &["watch", "--timeout", "1s"],
        &["sync"],
        &["daemon", "status"],
        &["--no-daemon", "list"],
    ] {
        let started = Instant::now();
        let error = bd.error(&[&["--lock-timeout", "200ms"], args].concat(), "busy");
        assert!(started.elapsed() < PATIENCE, "{args:?}");
        assert_eq!(error["details"]["pid"], pid, "{args:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains(&format!("kill -CONT {pid}")), "{error}");
    }
    drop(stopped);
    assert_eq!(bd.show(&id)["title"], "x");
}

#[test]
fn a_daemon_with_another_runtime_directory_is_found_through_the_lock() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["x"]);
    let pid = bd.daemon_pid();
    let other = bd.root().join("run2");
    std::fs::create_dir(&other).unwrap();
    crate::sandbox::set_mode(&other, 0o700);
    for flags in [&[][..], &["--no-daemon"]] {
        let args = [flags, &["show", &id, "--json"]].concat();
        let run = Run::of(bd.command(&args).env("BD_RUNTIME_DIR", &other)).succeeded(&args);
        assert_eq!(run.value()[0]["title"], "x");
    }
    assert_eq!(bd.daemon_pid(), pid, "it was not replaced");
    assert!(std::fs::read_dir(&other).unwrap().next().is_none(), "and no second one was started");
}

#[test]
fn the_error_names_the_process_that_holds_the_store() {
    let bd = Sandbox::new(Mode::Embedded);
    let lock = StoreLock::try_take(&bd.dir().join(".git/beads/lock")).unwrap().unwrap();
    let daemons = |args: &[&str]| Run::of(bd.command(args).env_remove("BD_NO_DAEMON"));
    for run in [
        bd.run(&["--lock-timeout", "200ms", "list", "--json"]),
        daemons(&["--lock-timeout", "200ms", "list", "--json"]),
    ] {
        let error = run.failed("list", "busy");
        assert_eq!(error["details"]["pid"], std::process::id(), "{error}");
        assert!(error["details"]["since"].as_str().unwrap().starts_with("20"), "{error}");
        assert!(!error["details"]["user"].as_str().unwrap().is_empty(), "{error}");
    }
    // A daemon that still waits for the lock finds no store and exits.
    drop(bd);
    drop(lock);
}

/// Two containers may share a runtime directory and have different repositories at the same path.
#[test]
fn a_daemon_of_another_store_with_the_same_path_is_not_asked() {
    let bd = Sandbox::new(Mode::Daemon);
    let listener = UnixListener::bind(bd.socket()).unwrap();
    let foreign = std::thread::spawn(move || {
        let mut asked = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let last = line == "end\n";
            asked.push(line);
            let _ = (&stream).write_all(b"{\"position\":0,\"exit\":0,\"stdout\":\"\"}\n");
            if last {
                return asked;
            }
        }
        asked
    });
    let id = bd.create(&["x"]);
    assert_eq!(bd.show(&id)["title"], "x", "the command did the work itself");
    let mut end = std::os::unix::net::UnixStream::connect(bd.socket()).unwrap();
    end.write_all(b"end\n").unwrap();
    let asked = foreign.join().unwrap();
    assert!(asked.iter().all(|line| line.contains("daemon_status") || line == "end\n"), "{asked:?}");
}

#[test]
fn an_exiting_daemon_does_not_wait_for_a_remote_that_hangs() {
    let bd = Sandbox::new(Mode::Daemon);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/x.git", silent.local_addr().unwrap().port());
    bd.repository().remote("origin", &url).unwrap();
    bd.text(&["config", "set", "sync.deadline", "10m"]);
    bd.text(&["daemon", "stop"]);
    let id = bd.create(&["x"]);
    let mut sync = bd.command(&["sync"]).spawn().unwrap();
    // The sync is in progress once the remote was contacted.
    let asked = silent.accept().unwrap();
    let started = Instant::now();
    bd.text(&["daemon", "stop"]);
    assert!(started.elapsed() < PATIENCE);
    sync.kill().unwrap();
    sync.wait().unwrap();
    drop(asked);
    assert_eq!(bd.show(&id)["title"], "x");
}
