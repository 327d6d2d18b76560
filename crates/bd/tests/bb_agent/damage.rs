//! A damaged file is reported by name and never overwritten, and other agents can keep working.

use std::process::Command;

use serde_json::Value;

use crate::team::Team;

fn names(error: &Value, file: &str) {
    assert_eq!(error["reason"], "DAMAGED_FILE", "{error}");
    assert!(error["details"]["file"].as_str().unwrap().ends_with(file), "{error}");
    assert!(error["message"].as_str().unwrap().contains(file), "{error}");
}

#[test]
fn an_agents_file() {
    let team = Team::of(&["amber", "birch", "cedar"]);
    for damage in ["", "{", "{\"agent_id\": \"amber\"}", "[]", "\0\0\0", &team.read("agents/birch.json")] {
        team.write("agents/amber.json", damage);
        let commands: [&[&str]; 5] = [
            &["register", "--name", "amber", "--role", "ui", "--force-update"],
            &["show", "--agent", "amber"],
            &["heartbeat", "--agent", "amber"],
            &["inbox", "--agent", "amber"],
            &["list"],
        ];
        for command in commands {
            names(&team.fails("IO_READ_FAILED", 1, command), "agents/amber.json");
        }
        assert_eq!(team.read("agents/amber.json"), damage);
        team.ok(&["show", "--agent", "birch"]);
        team.sends("birch", "cedar", "INFO", "s");
    }
    assert_eq!(team.ok(&["inbox", "--agent", "cedar"]).as_array().unwrap().len(), 6);
}

#[test]
fn a_message() {
    let team = Team::of(&["amber", "birch", "cedar"]);
    let id = team.sends("amber", "birch", "HANDOFF", "s");
    let file = format!("messages/index/{id}.json");
    team.write(&file, "{\"message_id\":");
    for verb in ["read", "ack"] {
        names(&team.fails("IO_READ_FAILED", 1, &[verb, "--agent", "birch", "--message", &id]), &file);
    }
    // A message that cannot be read does not hide the others.
    team.sends("amber", "birch", "INFO", "readable");
    assert_eq!(team.ok(&["inbox", "--agent", "birch"]).as_array().unwrap().len(), 1);
    assert_eq!(team.ok(&["status"])["summary"]["unread"], 1);
    assert_eq!(team.read(&file), "{\"message_id\":");
    team.sends("amber", "cedar", "HANDOFF", "s");
    assert_eq!(team.ok(&["inbox", "--agent", "cedar"])[0]["subject"], "s");
    assert_eq!(team.ok(&["status", "--agent", "cedar"])["summary"]["unread"], 1);
}

#[test]
fn a_log_in_the_middle() {
    let team = Team::of(&["amber", "birch", "cedar"]);
    team.sends("amber", "birch", "INFO", "s");
    let damaged = format!("nonsense\n{}", team.read("messages/birch.jsonl"));
    team.write("messages/birch.jsonl", &damaged);
    let inbox = team.run(&["inbox", "--agent", "birch", "--json"]);
    assert_eq!(inbox.exit, 0, "{inbox:?}");
    assert!(inbox.err.contains("line 1 of") && inbox.err.contains("bb agent doctor"), "{inbox:?}");
    assert_eq!(team.ok(&["inbox", "--agent", "birch"])[0]["subject"], "s", "the rest is shown");
    let doctor = team.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&doctor.out).unwrap();
    let finding = &report["data"]["findings"][0];
    assert_eq!((doctor.exit, &finding["line"]), (1, &1.into()), "{doctor:?}");
    assert!(finding["file"].as_str().unwrap().ends_with("messages/birch.jsonl"), "{doctor:?}");
    assert_eq!(team.read("messages/birch.jsonl"), damaged);
    team.sends("amber", "cedar", "INFO", "s");
    team.ok(&["inbox", "--agent", "cedar"]);
}

#[test]
fn a_torn_tail_breaks_no_reader_and_is_not_overwritten() {
    let team = Team::of(&["amber", "birch", "cedar"]);
    team.sends("amber", "birch", "INFO", "whole");
    let torn = team.read("messages/birch.jsonl") + "{\"message_id\":\"msg_to";
    team.write("messages/birch.jsonl", &torn);
    let inbox = team.ok(&["inbox", "--agent", "birch"]);
    assert_eq!((inbox.as_array().unwrap().len(), &inbox[0]["subject"]), (1, &"whole".into()));
    let letter = |to| {
        [
            "send",
            "--from",
            "amber",
            "--to",
            to,
            "--bead",
            "b",
            "--category",
            "INFO",
            "--subject",
            "s",
            "--body",
            "b",
        ]
    };
    names(&team.fails("IO_READ_FAILED", 1, &letter("birch")), "messages/birch.jsonl");
    names(&team.fails("IO_READ_FAILED", 1, &letter("broadcast")), "messages/birch.jsonl");
    assert_eq!(team.read("messages/birch.jsonl"), torn);
    assert!(!team.store().join("messages/cedar.jsonl").exists(), "a broadcast reaches all or none");
    team.ok(&letter("cedar"));
}

#[test]
fn a_line_begun_by_a_killed_sender_is_finished_by_the_next_command() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "INFO", "first");
    let line = team.read("messages/birch.jsonl");
    // The store after its writer was killed in the middle of a line.
    let pending = format!("{{\"deliver\": [{}]}}", line.trim_end());
    team.write("pending.json", &pending);
    for torn in [0, 1, line.len() / 2, line.len() - 1, line.len()] {
        team.write("messages/birch.jsonl", &line[..torn]);
        team.write("pending.json", &pending);
        let inbox = team.ok(&["inbox", "--agent", "birch"]);
        assert_eq!((inbox.as_array().unwrap().len(), &inbox[0]["message_id"]), (1, &id.as_str().into()));
        assert_eq!(team.read("messages/birch.jsonl"), line, "torn at {torn}");
        assert!(!team.store().join("pending.json").exists());
    }
    // The sender was killed before it wrote the index file: the file is created, and a later acknowledgement
    // is kept.
    std::fs::remove_file(team.store().join(format!("messages/index/{id}.json"))).unwrap();
    team.write("pending.json", &pending);
    team.ok(&["ack", "--agent", "birch", "--message", &id]);
    team.write("pending.json", &pending);
    assert_eq!(team.ok(&["inbox", "--agent", "birch"])[0]["state"], "acked");
}

#[test]
fn an_intent_cannot_reach_outside_the_store() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "INFO", "s");
    let line = team.read("messages/birch.jsonl");
    let evil = line.trim_end().replace("\"to_agent\":\"birch\"", "\"to_agent\":\"../../birch\"");
    let evil = evil.replace(&id, "msg_new");
    team.write("pending.json", &format!("{{\"deliver\": [{evil}]}}"));
    names(&team.fails("IO_READ_FAILED", 1, &["list"]), "pending.json");
    assert!(!team.dir().join("birch.jsonl").exists());
}

#[test]
fn the_active_reservations() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src");
    for damage in ["", "[", "{}", "{\"reservations\": [{\"scope\": \"src\"}]}"] {
        team.write("reservations/active.json", damage);
        let commands: [&[&str]; 4] = [
            &["reserve", "--agent", "birch", "--scope", "docs", "--bead", "b"],
            &["reserve", "--agent", "birch", "--scope", "docs", "--bead", "b", "--takeover-stale"],
            &["release", "--agent", "amber", "--scope", "src"],
            &["status"],
        ];
        for command in commands {
            names(&team.fails("IO_READ_FAILED", 1, command), "reservations/active.json");
        }
        assert_eq!(team.read("reservations/active.json"), damage);
    }
    team.sends("amber", "birch", "INFO", "mail goes on");
}

#[test]
fn the_history() {
    let team = Team::of(&["amber"]);
    team.reserves("amber", "src");
    team.write("reservations/history.jsonl", "{\"torn");
    names(
        &team.fails("IO_READ_FAILED", 1, &["release", "--agent", "amber", "--scope", "src"]),
        "reservations/history.jsonl",
    );
    assert_eq!(team.read("reservations/history.jsonl"), "{\"torn");
    assert_eq!(team.ok(&["status"])["summary"]["active"], 1, "and the lease is still held");
}

#[test]
fn something_else_in_place_of_a_file() {
    let team = Team::of(&["amber", "birch"]);
    std::fs::create_dir_all(team.store().join("messages/birch.jsonl")).unwrap();
    names(&team.fails("IO_READ_FAILED", 1, &["inbox", "--agent", "birch"]), "messages/birch.jsonl");
    team.ok(&["inbox", "--agent", "amber"]);
}

#[test]
fn a_planted_link_is_not_followed() {
    let team = Team::of(&["amber", "birch"]);
    let victim = team.dir().join("victim");
    std::fs::write(&victim, "").unwrap();
    std::fs::create_dir_all(team.store().join("messages")).unwrap();
    for link in ["agents/.tmp", "messages/birch.jsonl"] {
        std::os::unix::fs::symlink(&victim, team.store().join(link)).unwrap();
    }
    team.ok(&["register", "--name", "cedar", "--role", "ui"]);
    let letter = [
        "send",
        "--from",
        "amber",
        "--to",
        "birch",
        "--bead",
        "b",
        "--category",
        "INFO",
        "--subject",
        "s",
        "--body",
        "b",
    ];
    team.fails("IO_READ_FAILED", 1, &letter);
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "");
}

/// Early versions of the original tool wrote fractions of a second into ids.
#[test]
fn ids_of_earlier_versions_are_read() {
    let team = Team::of(&["amber", "birch"]);
    let ours = team.sends("amber", "birch", "HANDOFF", "old");
    let theirs = "msg_20261116_190317.958Z_624d";
    let log = team.read("messages/birch.jsonl").replace(&ours, theirs);
    team.write("messages/birch.jsonl", &log);
    let record = team.read(&format!("messages/index/{ours}.json")).replace(&ours, theirs);
    team.write(&format!("messages/index/{theirs}.json"), &record);
    assert_eq!(team.ok(&["inbox", "--agent", "birch"])[0]["message_id"], theirs);
    assert_eq!(team.ok(&["ack", "--agent", "birch", "--message", theirs])["state"], "acked");
    assert_eq!(team.ok(&["doctor"])["findings"], serde_json::json!([]));
}

/// Every command opens the lock, including the hook that runs at every commit.
#[test]
fn a_pipe_in_place_of_the_lock_does_not_block() {
    let team = Team::of(&["amber"]);
    let lock = team.store().join("lock");
    std::fs::remove_file(&lock).unwrap();
    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    team.fails("IO_WRITE_FAILED", 1, &["heartbeat", "--agent", "amber"]);
    team.fails("IO_WRITE_FAILED", 1, &["list"]);
    assert_eq!(team.run(&["guard", "--hook", "--agent", "amber", "x"]).exit, 0, "a hook fails open");
}

/// The limit is checked before reading: a huge sparse file is cheap to create.
#[test]
fn an_enormous_file_is_refused_in_little_memory() {
    let team = Team::of(&["amber"]);
    for (file, verb) in [("agents/amber.json", "show"), ("messages/amber.jsonl", "inbox")] {
        let path = team.store().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let sparse =
            std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path).unwrap();
        sparse.set_len(3 << 30).unwrap();
        let bb = team.agent(&[verb, "--agent", "amber"]);
        let mut limited = Command::new("/bin/sh");
        limited
            .args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\""])
            .arg(bb.get_program())
            .args(bb.get_args());
        limited.current_dir(team.dir()).env("BB_AGENT_ROOT", team.store());
        let said = crate::team::ran(limited);
        assert!(said.exit == 1 && said.err.contains("it has more than"), "{said:?}");
        sparse.set_len(0).unwrap();
        std::fs::remove_file(&path).unwrap();
        team.run(&["register", "--name", "amber", "--role", "ui"]);
    }
}
