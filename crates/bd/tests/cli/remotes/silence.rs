//! A server that accepts a connection and never answers. This needs no real server.

use std::net::TcpListener;

use crate::sandbox::{PATIENCE, both};

fn does_not_hang(transports: &[&str], path: &std::ffi::OsStr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for transport in transports {
        for url in [format!("http://127.0.0.1:{port}/x.git"), format!("ssh://git@127.0.0.1:{port}/x.git")] {
            both(|bd| {
                eprintln!("{transport} {url}");
                bd.repository().remote("origin", &url).unwrap();
                bd.json(&["config", "set", "sync.transport", transport]);
                bd.json(&["config", "set", "sync.deadline", "1s"]);
                // Only explicit syncs: otherwise the daemon would sync by itself too.
                bd.json(&["config", "set", "sync.quiet", "1h"]);
                bd.json(&["config", "set", "sync.max_delay", "1h"]);
                bd.text(&["daemon", "stop"]);
                let started = std::time::Instant::now();
                let mut create = bd.command(&["create", "kept"]);
                assert!(create.env("PATH", path).status().unwrap().success());
                let run = crate::sandbox::Run::of(bd.command(&["sync", "--json"]).env("PATH", path));
                assert_eq!(run.exit, Some(22), "{run:?}");
                assert!(run.stderr.contains("took longer than 1 s"), "{run:?}");
                assert!(started.elapsed() < PATIENCE, "{run:?}");
                let error = bd.json(&["status"])["sync"]["last_error"].clone();
                assert_eq!(error["code"], "timeout", "{error}");
                assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
            });
        }
    }
}

#[test]
fn an_unresponsive_server_does_not_hang_a_sync() {
    does_not_hang(&["native"], "".as_ref());
}

/// The deadline covers the whole sync, so the server is not contacted again after it has passed.
#[test]
fn the_first_sync_of_an_empty_replica_asks_a_silent_server_once() {
    both(|bd| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://127.0.0.1:{}/x.git", listener.local_addr().unwrap().port());
        bd.repository().remote("origin", &url).unwrap();
        bd.json(&["config", "set", "sync.transport", "native"]);
        bd.json(&["config", "set", "sync.deadline", "1s"]);
        bd.json(&["config", "set", "sync.interval", "0"]);
        bd.text(&["daemon", "stop"]);
        let run = bd.run(&["sync", "--json"]);
        assert_eq!((run.exit, &run.value()["error"]["code"]), (Some(22), &"timeout".into()), "{run:?}");
        listener.set_nonblocking(true).unwrap();
        assert_eq!(std::iter::from_fn(|| listener.accept().ok()).count(), 1);
    });
}

fn is_there(name: &str) -> bool {
    std::process::Command::new(name).arg("-V").output().is_ok()
}

#[test]
fn a_missing_git_or_ssh_is_named() {
    let missing = |bd: &crate::sandbox::Sandbox, url: &str, program: &str| {
        let _ = bd.repository().remote_delete("origin");
        bd.repository().remote("origin", url).unwrap();
        let run = bd.run(&["sync", "--json"]);
        assert_eq!(run.exit, Some(127), "{run:?}");
        let error = run.value()["error"].clone();
        assert_eq!(error["code"], "dependency_missing", "{run:?}");
        assert_eq!(error["details"]["program"], program, "{run:?}");
        assert!(error["hint"].as_str().unwrap().contains("install"), "{run:?}");
        let tool = bd.run_with_input(&["tool", "beads.sync", "--apply"], b"{}");
        assert_eq!(
            (tool.exit, &tool.value()["error"]),
            (Some(127), &"dependency_missing".into()),
            "{tool:?}"
        );
    };
    both(|bd| {
        bd.json(&["config", "set", "sync.transport", "git"]);
        missing(bd, "https://127.0.0.1:1/x.git", "git");
        if !is_there("git") {
            eprintln!("skipped: no git program found");
            return;
        }
        // A path with git and without ssh.
        let paths = std::env::var_os("PATH").unwrap();
        let git =
            std::env::split_paths(&paths).map(|path| path.join("git")).find(|git| git.is_file()).unwrap();
        std::os::unix::fs::symlink(git, bd.root().join("bin/git")).unwrap();
        missing(bd, "ssh://git@127.0.0.1:1/x.git", "ssh");
    });
}

#[test]
fn an_unresponsive_server_does_not_hang_the_git_program() {
    if !is_there("git") || !is_there("ssh") {
        eprintln!("skipped: there is no git or no ssh program");
        return;
    }
    does_not_hang(&["git"], &std::env::var_os("PATH").unwrap());
}
