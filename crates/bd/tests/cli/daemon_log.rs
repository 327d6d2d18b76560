//! The daemon's log.

use crate::sandbox::{Mode, Sandbox, wait_until};

fn log(bd: &Sandbox, args: &[&str]) -> String {
    bd.text(&[&["daemon", "log"], args].concat())
}

#[test]
fn lines_have_dates_and_outlive_restarts() {
    let bd = Sandbox::new(Mode::Daemon);
    assert_eq!(log(&bd, &[]), "", "no daemon ran yet");
    bd.create(&["first"]);
    bd.text(&["daemon", "stop"]);
    bd.create(&["second"]);
    let said = log(&bd, &[]);
    let started: Vec<&str> = said.lines().filter(|line| line.contains("started: bd ")).collect();
    assert_eq!(started.len(), 2, "{said}");
    assert!(said.contains("] stopped\n"), "{said}");
    for line in said.lines() {
        let date = line.split(' ').next().unwrap();
        assert!(date.parse::<jiff::Timestamp>().is_ok(), "{line}");
    }
    let second = started[1].split(' ').next().unwrap();
    let since = log(&bd, &["--since", second]);
    assert!(since.contains(started[1]) && !since.contains(started[0]), "{since}");
    assert_eq!(log(&bd, &["--since", "2099-01-01"]), "");
    let json = bd.json(&["daemon", "log", "--since", second]);
    assert!(json["text"].as_str().unwrap().contains("started"), "{json}");
}

#[test]
fn a_failing_sync_is_logged_without_secrets() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.repository().remote("origin", "http://ann:hunter2@127.0.0.1:1/x.git?token=s3cr3t").unwrap();
    let mut create = bd.command(&["create", "first"]);
    assert!(create.env("BD_GIT_TOKEN", "t0k3n-value").status().unwrap().success());
    assert_ne!(bd.run(&["sync", "--json"]).exit, Some(0));
    wait_until("the failure is logged", || log(&bd, &[]).contains("sync failed"));
    let said = log(&bd, &[]);
    for secret in ["hunter2", "t0k3n-value"] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn a_full_log_is_moved_aside_at_the_next_start() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["first"]);
    bd.text(&["daemon", "stop"]);
    let path = bd.dir().join(".git/beads/daemon.log");
    let line = "2026-01-01T00:00:00.000Z [1] old\n";
    std::fs::write(&path, line.repeat(40_000)).unwrap();
    bd.create(&["second"]);
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000);
    let said = log(&bd, &[]);
    assert!(said.starts_with(line) && said.contains("started: bd "));
}
