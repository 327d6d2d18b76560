//! A server that accepts a connection and never says a word. No real server is needed for that.

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
                // Only what is asked for: the daemon would try by itself, too.
                bd.json(&["config", "set", "sync.quiet", "1h"]);
                bd.json(&["config", "set", "sync.max_delay", "1h"]);
                bd.text(&["daemon", "stop"]);
                let started = std::time::Instant::now();
                let mut create = bd.command(&["create", "kept"]);
                assert!(create.env("PATH", path).status().unwrap().success());
                let run = crate::sandbox::Run::of(bd.command(&["sync", "--json"]).env("PATH", path));
                assert_eq!(run.exit, Some(22), "{run:?}");
                assert!(run.stderr.contains("no answer within 1 s"), "{run:?}");
                assert!(started.elapsed() < PATIENCE, "{run:?}");
                let error = bd.json(&["status"])["sync"]["last_error"].clone();
                assert_eq!(error["code"], "network_error", "{error}");
                assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
            });
        }
    }
}

#[test]
fn an_unresponsive_server_does_not_hang_a_sync() {
    does_not_hang(&["native"], "".as_ref());
}

#[test]
fn an_unresponsive_server_does_not_hang_the_git_program() {
    let is_there = |name: &str| {
        let version = std::process::Command::new(name).arg("-V").output();
        version.is_ok()
    };
    if !is_there("git") || !is_there("ssh") {
        eprintln!("skipped: there is no git or no ssh program");
        return;
    }
    does_not_hang(&["git"], &std::env::var_os("PATH").unwrap());
}
