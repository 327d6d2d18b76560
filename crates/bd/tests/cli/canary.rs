//! Secrets in the environment, in the URL of the remote and in a credential helper's answer appear nowhere:
//! not in output, errors, logs, files of the store or commits.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::sandbox::{Mode, Run, Sandbox, set_mode};

const IN_ENVIRONMENT: &str = "canary-environment-5d1f";
const IN_ADDRESS: &str = "canary-address-77ab";
const IN_HELPER: &str = "canary-helper-90ce";

/// Starts a server that rejects all credentials and quotes them in its answer. Returns its port and the
/// credentials that clients sent.
fn server_that_rejects_credentials() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let recorder = heard.clone();
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if line.to_lowercase().starts_with("authorization:") {
                    recorder.lock().unwrap().push(line.trim().to_owned());
                }
                line.clear();
            }
            let body = format!("http://ann:{IN_ADDRESS}@127.0.0.1:{port}/store.git is not for you\n");
            let head =
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nConnection: close\r\n";
            let about = format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", body.len());
            let _ = reader.get_mut().write_all(format!("{head}{about}\r\n{body}").as_bytes());
        }
    });
    (port, heard)
}

/// Returns every file below a directory, except the one into which the user wrote the URL.
fn files(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            files(&path, found);
        } else if entry.file_type().unwrap().is_file() && !path.ends_with(".git/config") {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn silent(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for canary in [IN_ENVIRONMENT, IN_ADDRESS, IN_HELPER] {
        assert!(!text.contains(canary), "{what} shows {canary}: {text}");
    }
}

fn assert_shows_no_secret(mode: Mode, transport: &str, with_address: bool) {
    let (port, heard) = server_that_rejects_credentials();
    let bd = Sandbox::new(mode);
    let user = if with_address { format!("ann:{IN_ADDRESS}@") } else { String::new() };
    let url = format!("http://{user}127.0.0.1:{port}/store.git");
    bd.repository().remote("origin", &url).unwrap();
    let helper = bd.root().join("bin/keeper");
    std::fs::write(&helper, format!("#!/bin/sh\necho username=ann\necho password={IN_HELPER}\n")).unwrap();
    set_mode(&helper, 0o755);
    bd.repository().config().unwrap().set_str("credential.helper", helper.to_str().unwrap()).unwrap();
    let run = |args: &[&str]| {
        let mut command = bd.command(args);
        command.env("BD_GIT_TOKEN", IN_ENVIRONMENT).env("SOME_API_KEY", IN_ENVIRONMENT);
        if transport == "git" {
            command.env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_NOSYSTEM", "1");
        }
        let run = Run::of(&mut command);
        silent(&format!("{args:?}"), format!("{run:?}").as_bytes());
        run
    };
    run(&["config", "set", "sync.transport", transport]);
    run(&["create", "kept", "-d", "text"]);
    let failed = run(&["sync"]);
    assert_ne!(failed.exit, Some(0), "{failed:?}");
    for args in [
        &["sync", "--json"][..],
        &["sync", "-v"],
        &["status"],
        &["status", "--json"],
        &["info", "--json"],
        &["where", "--json"],
        &["config", "list"],
        &["validate"],
        &["export"],
        &["log", "--json"],
        &["frobnicate"],
        &["daemon", "stop"],
    ] {
        run(args);
    }
    let heard = heard.lock().unwrap();
    assert!(!heard.is_empty(), "no secret was sent, so the test proves nothing");
    let mut all = Vec::new();
    files(&bd.dir().join(".git"), &mut all);
    files(&bd.runtime_dir(), &mut all);
    all.iter().for_each(|(path, bytes)| silent(path, bytes));
    let repository = bd.repository();
    let database = repository.odb().unwrap();
    database
        .foreach(|id| {
            silent(&id.to_string(), database.read(*id).unwrap().data());
            true
        })
        .unwrap();
}

#[test]
fn secrets_are_shown_nowhere() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        for with_address in [false, true] {
            assert_shows_no_secret(mode, "native", with_address);
        }
    }
}

#[test]
fn the_git_program_shows_secrets_nowhere_either() {
    if std::process::Command::new("git").arg("version").output().is_err() {
        eprintln!("skipped: no git program found");
        return;
    }
    for with_address in [false, true] {
        assert_shows_no_secret(Mode::Daemon, "git", with_address);
    }
}
