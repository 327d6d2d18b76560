//! Commands that beads-mcp calls for maintenance: `doctor`, `repair-deps`, `migrate --inspect` and `info
//! --schema`.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both};
use crate::sync::Remote;

#[test]
fn a_healthy_store() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        let doctor = bd.json(&["doctor", "--check=validate"]);
        assert_eq!(doctor["overall_ok"], true, "{doctor}");
        assert_eq!(
            (&doctor["checks"][0]["name"], &doctor["checks"][0]["status"]),
            (&json!("store"), &json!("ok"))
        );
        assert!(bd.text(&["doctor"]).starts_with("store         ok"));
        for name in ["store", "dependencies", "clock_skew", "clients", "journal", "clock"] {
            let doctor = bd.json(&["doctor", "--check", name]);
            let names: Vec<_> = doctor["checks"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
            assert_eq!(names, [name]);
        }
        let migration = bd.json(&["migrate", "--inspect"]);
        assert_eq!((&migration["needs_migration"], &migration["issue_count"]), (&json!(false), &json!(1)));
        assert!(bd.text(&["migrate", "--inspect"]).contains("nothing to migrate"));
        let schema = &bd.json(&["info", "--schema"])["schema"];
        assert_eq!(schema["sample_ids"], json!(["bd-1"]));
        assert!(schema["fields"].as_array().unwrap().contains(&json!("acceptance_criteria")), "{schema}");
        assert!(bd.json(&["info"]).get("schema").is_none());
        assert_eq!(bd.json(&["repair-deps"]), json!({"orphans_found": 0, "orphans": [], "fixed": 0}));
    });
}

#[test]
fn dependencies_on_deleted_beads_are_found_and_removed_when_asked() {
    both(|bd| {
        bd.create(&["gone", "--id", "bd-1"]);
        bd.create(&["waits", "--id", "bd-2", "--deps", "bd-1"]);
        bd.json(&["delete", "bd-1"]);
        let orphan = json!({"issue_id": "bd-2", "depends_on_id": "bd-1", "type": "blocks", "kind": "blocks", "reason": "deleted"});
        let found = json!({"orphans_found": 1, "orphans": [orphan], "fixed": 0});
        assert_eq!(bd.json(&["repair-deps"]), found);
        assert_eq!(bd.json(&["repair-deps"]), found, "looking changes nothing");
        let doctor = bd.json(&["doctor", "--check=validate"]);
        assert_eq!((&doctor["checks"][1]["status"], &doctor["fixed"]), (&json!("ok"), &json!(0)), "{doctor}");
        assert_eq!(doctor["checks"][1]["findings"][0]["code"], "orphaned_dependency");
        assert_eq!(bd.json(&["doctor", "--check=validate", "--fix", "--yes"])["fixed"], 1);
        assert_eq!(bd.text(&["repair-deps", "--fix"]), "0 found, 0 removed\n");
    });
}

/// Nothing is deleted on a guess, and the error says what to do instead.
#[test]
fn unsupported_checks_are_refused_clearly() {
    both(|bd| {
        for args in
            [&["doctor", "--check=pollution"][..], &["doctor", "--check=pollution", "--clean", "--yes"]]
        {
            let error = bd.error(args, "invalid_value");
            assert!(error["message"].as_str().unwrap().contains("bd search"), "{error}");
        }
        bd.error(&["doctor", "--check=weather"], "invalid_value");
        bd.error(&["migrate", "--inspect", "--remote"], "usage");
    });
}

/// Returns the codes of the findings of one check.
fn codes(bd: &Sandbox, args: &[&str]) -> Vec<String> {
    let doctor = bd.run(&[&["doctor", "--json"], args].concat()).value();
    let findings = doctor["checks"][0]["findings"].as_array().unwrap_or_else(|| panic!("{doctor}"));
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Returns the message of the only finding of one check.
fn message(bd: &Sandbox, args: &[&str]) -> String {
    let doctor = bd.run(&[&["doctor", "--json"], args].concat()).value();
    assert_eq!(doctor["checks"].as_array().map(Vec::len), Some(1), "{doctor}");
    doctor["checks"][0]["findings"][0]["message"].as_str().unwrap_or_else(|| panic!("{doctor}")).to_owned()
}

#[test]
fn the_surroundings_of_a_healthy_store_get_no_warning() {
    both(|bd| {
        bd.create(&["one"]);
        let doctor = bd.json(&["doctor"]);
        let checks = doctor["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["status"] == "ok"), "{doctor:#}");
        let names: Vec<&str> = checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
        for name in [
            "daemon",
            "runtime_dir",
            "remote",
            "clone",
            "identity",
            "agents",
            "program",
            "claims",
            "clock",
            "size",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert_eq!(codes(bd, &["--check=remote"]), ["no_remote"]);
        let validate = bd.json(&["doctor", "--check=validate"]);
        assert!(
            validate["checks"].as_array().unwrap().iter().all(|check| check["name"] != "remote"),
            "{validate}"
        );
    });
}

/// Commands work without a daemon, so only `bd doctor` tells why there is none.
#[test]
fn a_runtime_directory_with_the_wrong_mode_is_reported() {
    let bd = Sandbox::new(Mode::Daemon);
    std::fs::set_permissions(bd.runtime_dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("chmod 700 {}", bd.runtime_dir().display());
    assert!(message(&bd, &["--check=runtime_dir"]).contains(&command));
    assert_eq!(codes(&bd, &["--check=daemon"]), ["no_daemon"]);
    std::fs::set_permissions(bd.runtime_dir(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(codes(&bd, &["--check=runtime_dir"]).is_empty());
    assert!(codes(&bd, &["--check=daemon"]).is_empty());
    assert_eq!(codes(&Sandbox::new(Mode::Embedded), &["--check=daemon"]), ["daemon_switched_off"]);
}

#[test]
fn a_remote_is_asked_whether_it_can_be_reached_and_takes_claim_refs() {
    both(|bd| {
        let remote = Remote::new();
        bd.create(&["one"]);
        bd.repository().remote("origin", "/no/such/repository").unwrap();
        // The daemon may have tried to sync before, which is another finding.
        let found = codes(bd, &["--check=remote"]);
        assert_eq!(found.last().map(String::as_str), Some("remote_unreachable"), "{found:?}");
        assert_eq!(codes(bd, &["--check=remote", "--sandbox"]), ["remote_not_asked"]);
        bd.repository().remote_set_url("origin", remote.path().to_str().unwrap()).unwrap();
        let found = codes(bd, &["--check=remote"]);
        assert_eq!(found.last().map(String::as_str), Some("not_published"), "{found:?}");
        bd.json(&["sync"]);
        assert!(codes(bd, &["--check=remote", "--probe"]).is_empty());
        let git = git2::Repository::open(remote.path()).unwrap();
        assert_eq!(git.references_glob("refs/beads/*").unwrap().count(), 0, "the test ref is deleted");
    });
}

/// Seven long beads are enough: a file may not exceed what hosting services accept, whatever is in it.
#[test]
fn a_file_past_half_of_what_hosting_services_accept_is_reported() {
    let bd = Sandbox::new(Mode::Embedded);
    let line =
        |n: usize| json!({"id": format!("bd-{n}"), "title": "long", "description": "x".repeat(7_400_000)});
    let lines: Vec<String> = (1..8).map(|n| format!("{}\n", line(n))).collect();
    let file = bd.dir().join("long.jsonl");
    std::fs::write(&file, lines.concat()).unwrap();
    bd.json(&["import", file.to_str().unwrap()]);
    assert!(codes(&bd, &["--check=size"]).is_empty(), "there is no remote");
    let remote = Remote::new();
    bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
    bd.json(&["sync"]);
    assert_eq!(codes(&bd, &["--check=size"]), ["file_large"]);
    assert!(message(&bd, &["--check=size"]).contains("state.jsonl has 51 MB"));
}

#[test]
fn a_clone_that_misses_something_is_reported() {
    both(|bd| {
        let repository = bd.repository();
        repository
            .remote_with_fetch("origin", "/nowhere", "+refs/heads/main:refs/remotes/origin/main")
            .unwrap();
        assert_eq!(codes(bd, &["--check=clone"]), ["single_branch_clone"]);
        let head = repository.head().unwrap().target().unwrap();
        std::fs::write(repository.path().join("shallow"), format!("{head}\n")).unwrap();
        assert_eq!(codes(bd, &["--check=clone"]), ["shallow_clone", "single_branch_clone"]);
    });
}

#[test]
fn a_guessed_and_an_invalid_actor_are_reported() {
    both(|bd| {
        let found = |actor: Option<&str>| -> Value {
            let mut command = bd.command(&["doctor", "--check=identity", "--json"]);
            match actor {
                Some(actor) => command.env("BD_ACTOR", actor),
                None => command.env_remove("BD_ACTOR"),
            };
            Run::of(&mut command).value()
        };
        assert!(found(None).to_string().contains("default_actor"));
        assert!(!found(Some("ann")).to_string().contains("_actor"));
        let invalid = found(Some("a\nb"));
        assert_eq!(
            (&invalid["overall_ok"], &invalid["checks"][0]["status"]),
            (&json!(false), &json!("error"))
        );
    });
}

#[test]
fn files_of_coding_agents_that_were_changed_are_reported() {
    both(|bd| {
        assert_eq!(codes(bd, &["--check=agents"]), ["no_agent_set_up"]);
        bd.text(&["setup", "claude"]);
        assert!(codes(bd, &["--check=agents"]).is_empty());
        std::fs::remove_file(bd.dir().join(".claude/skills/beads/SKILL.md")).unwrap();
        assert!(message(bd, &["--check=agents"]).contains("run bd setup claude"));
    });
}

#[test]
fn leftovers_of_the_go_bd_are_reported() {
    both(|bd| {
        assert!(codes(bd, &["--check=leftovers"]).is_empty());
        std::fs::create_dir(bd.dir().join(".beads")).unwrap();
        std::fs::write(bd.dir().join(".beads/issues.jsonl"), "").unwrap();
        assert!(message(bd, &["--check=leftovers"]).contains("bd import --yes"));
    });
}
