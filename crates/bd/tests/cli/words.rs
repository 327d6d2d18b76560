//! Custom statuses and types from other trackers, and the format that they need.

use serde_json::json;

use crate::sandbox::{Mode, Sandbox, both};

/// Returns the bead bd-1 in one dialect.
fn shown(bd: &Sandbox, dialect: &str) -> serde_json::Value {
    bd.run(&["show", "bd-1", &format!("--json={dialect}")]).succeeded(dialect).value()[0].clone()
}

/// Runs a command that may be the first to need format 2, and then reports it.
fn raise(bd: &Sandbox, args: &[&str]) {
    let run = bd.run(args);
    assert!(run.exit == Some(0), "{args:?}: {run:?}");
    assert!(run.stderr.is_empty() || run.stderr.contains("format 2"), "{args:?}: {run:?}");
}

#[test]
fn a_custom_word_is_kept_with_the_status_and_raises_the_format_once() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        assert_eq!(bd.json(&["status"])["format_version"], 1);
        let first = bd.run(&["update", "bd-1", "--status", "Deferred"]);
        assert!(first.stderr.contains("format 2"), "{}", first.stderr);
        let again = bd.run(&["update", "bd-1", "--status", "blocked"]);
        assert!(!again.stderr.contains("format"), "{}", again.stderr);
        assert_eq!(bd.json(&["status"])["format_version"], 2);
        let spec = &shown(bd, "spec");
        assert_eq!((&spec["status"], &spec["state"]), (&json!("open"), &json!("blocked")));
        assert_eq!(spec["if_hash"], format!("{}+blocked/", spec["content_hash"].as_str().unwrap()));
        let compat = &shown(bd, "compat");
        assert_eq!((&compat["status"], compat.get("state")), (&json!("blocked"), None));
        assert_eq!(bd.json(&["ready"]), json!([]));
        assert_eq!(bd.json(&["list", "--status", "blocked"])[0]["id"], "bd-1");
        assert!(bd.text(&["list"]).contains("blocked"));
    });
}

/// The list of docs/COMPATIBILITY.md.
#[test]
fn only_the_documented_commands_raise_the_format_and_say_so() {
    let raising: [&[&str]; 10] = [
        &["update", "bd-1", "--status", "blocked"],
        &["create", "two", "-t", "decision"],
        &["remember", "text", "--key", "k"],
        &["cancel", "bd-1", "--reason", "no"],
        &["ask", "bd-1", "why?"],
        &["handover", "bd-1", "--to", "bob"],
        &["close", "bd-1", "--evidence", "url:https://example.com"],
        &["config", "set", "status.custom", "qa"],
        &["config", "set", "close.check", "refuse"],
        &["config", "set", "claim.ref_prefix", "refs/heads/claims/"],
    ];
    for args in raising {
        let bd = Sandbox::new(Mode::Embedded);
        bd.create(&["one", "--id", "bd-1"]);
        let run = bd.run(args);
        assert!(run.exit == Some(0) && run.stderr.contains("now has format 2"), "{args:?}: {run:?}");
    }
    let keeping: [&[&str]; 9] = [
        &["create", "two", "-t", "epic"],
        &["update", "bd-1", "--status", "in_progress"],
        &["update", "bd-1", "--defer", "+1d"],
        &["update", "bd-1", "--notes", "text"],
        &["note", "add", "bd-1", "text"],
        &["wait", "bd-1", "--until", "+2d"],
        &["claim", "bd-1"],
        &["config", "set", "issue_prefix", "app"],
        &["close", "bd-1", "--reason", "done"],
    ];
    let bd = Sandbox::new(Mode::Embedded);
    bd.create(&["one", "--id", "bd-1"]);
    for args in keeping {
        let run = bd.run(args);
        assert_eq!(run.exit, Some(0), "{args:?}: {run:?}");
        assert_eq!(bd.json(&["status"])["format_version"], 1, "{args:?}");
    }
}

#[test]
fn types_can_have_custom_words_and_memories_stay_separate() {
    both(|bd| {
        raise(bd, &["create", "why", "--id", "bd-1", "-t", "decision"]);
        raise(bd, &["create", "remember", "--id", "bd-2", "-t", "memory"]);
        let compat = &shown(bd, "compat");
        assert_eq!((&compat["issue_type"], &compat["type"]), (&json!("decision"), &json!("decision")));
        let listed = bd.json(&["list"]);
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]["type_word"]), (1, &json!("decision")));
        assert_eq!(bd.json(&["list", "--type", "memory"])[0]["id"], "bd-2");
        assert_eq!(bd.json(&["ready"]).as_array().unwrap().len(), 1);
    });
}

#[test]
fn unknown_words_are_refused_with_the_list_until_a_setting_adds_them() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        let error = bd.error(&["update", "bd-1", "--status", "qa"], "invalid_value");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("in_progress, closed, blocked") && message.contains("status.custom"),
            "{message}"
        );
        bd.error(&["config", "set", "status.custom", "open"], "invalid_value");
        raise(bd, &["config", "set", "status.custom", "qa:in_progress"]);
        assert_eq!(bd.json(&["config", "get", "status.custom"])["value"], "qa:in_progress");
        bd.text(&["update", "bd-1", "--status", "qa"]);
        let spec = &shown(bd, "spec");
        assert_eq!((&spec["status"], &spec["state"]), (&json!("in_progress"), &json!("qa")));
        bd.text(&["config", "unset", "status.custom"]);
        bd.error(&["update", "bd-1", "--status", "qa"], "invalid_value");
    });
}

/// The hash does not cover custom words, so a hash alone means that there are none.
#[test]
fn a_guard_compares_the_word_too() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        let plain = shown(bd, "spec")["content_hash"].as_str().unwrap().to_owned();
        raise(bd, &["update", "bd-1", "--status", "blocked"]);
        let blocked = shown(bd, "spec");
        assert_eq!(blocked["content_hash"], json!(plain), "the hash ignores custom words");
        let if_hash = format!("{plain}+blocked/");
        assert_eq!(blocked["if_hash"], json!(if_hash));
        let error = bd.error(&["update", "bd-1", "--title", "x", "--if-hash", &plain], "conflict");
        assert_eq!(
            (&error["details"]["content_hash"], &error["details"]["if_hash"]),
            (&json!(plain), &json!(if_hash))
        );
        assert!(error["message"].as_str().unwrap().contains(&if_hash), "{error}");
        bd.json(&["update", "bd-1", "-p", "0", "--if-hash", &if_hash]);
        let if_hash = shown(bd, "spec")["if_hash"].as_str().unwrap().to_owned();
        bd.text(&["update", "bd-1", "--status", "deferred"]);
        bd.error(&["close", "bd-1", "--if-hash", &if_hash], "conflict");
        bd.text(&["update", "bd-1", "--status", "open"]);
        bd.error(&["close", "bd-1", "--if-hash", &if_hash], "conflict");
        bd.json(&["close", "bd-1", "--if-hash", if_hash.split_once('+').unwrap().0]);
    });
}

#[test]
fn migrate_raises_the_format_and_only_then() {
    both(|bd| {
        bd.create(&["one"]);
        let inspected = bd.json(&["migrate", "--inspect"]);
        assert_eq!((&inspected["current_version"], &inspected["latest_version"]), (&json!(1), &json!(2)));
        assert_eq!(bd.json(&["migrate"])["current_version"], 2);
        assert_eq!(bd.json(&["migrate"])["current_version"], 2, "once more changes nothing");
    });
}
