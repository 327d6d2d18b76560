//! Sessions: the runs of agents that hold claims.

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both};

/// Runs a command in a session.
fn run_in(sandbox: &Sandbox, session: &str, args: &[&str]) -> Run {
    Run::of(sandbox.command(&[args, &["--json"]].concat()).env("BD_SESSION", session))
}

fn json_in(sandbox: &Sandbox, session: &str, args: &[&str]) -> Value {
    run_in(sandbox, session, args).succeeded(args).value()
}

/// Makes every session look as if it had last been active this many milliseconds ago.
fn age(sandbox: &Sandbox, ms: u64) {
    sandbox.run(&["daemon", "stop"]);
    let path = sandbox.dir().join(".git/beads/sessions.json");
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let past = |at: &mut Value| *at = json!(at.as_u64().unwrap() - ms);
    stored["claims"].as_array_mut().unwrap().iter_mut().for_each(|claim| past(&mut claim["seen_ms"]));
    stored["sessions"].as_object_mut().unwrap().values_mut().for_each(|seen| past(&mut seen["at_ms"]));
    std::fs::write(&path, stored.to_string()).unwrap();
}

#[test]
fn another_session_of_the_same_actor_cannot_claim_its_bead() {
    both(|sandbox| {
        let id = sandbox.create(&["One"]);
        let claimed = json_in(sandbox, "first", &["claim", &id]);
        assert_eq!(json_in(sandbox, "first", &["claim", &id])["renewed"], true);
        let refused = run_in(sandbox, "second", &["claim", &id]).failed("claim", "already_claimed");
        assert_eq!(refused["details"]["session"], "first");
        assert!(refused["message"].as_str().unwrap().contains("--take-over"), "{refused}");
        sandbox.error(&["claim", &id], "already_claimed");
        run_in(sandbox, "second", &["claim", &id, "--take-over"]).failed("live", "already_claimed");
        run_in(sandbox, "second", &["update", &id, "--claim"]).failed("update", "already_claimed");
        // A caller that presents the fence counts as the holder.
        let fence = claimed["fence"].as_str().unwrap();
        let moved = json_in(sandbox, "second", &["claim", &id, "--fence", fence]);
        assert_eq!((&moved["renewed"], &moved["fence"]), (&json!(true), &claimed["fence"]));
        run_in(sandbox, "first", &["claim", &id]).failed("moved", "already_claimed");
    });
}

#[test]
fn harnesses_name_the_session_and_flags_come_first() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let session = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut command = sandbox.command(&[flags, &["heartbeat", "--json"]].concat());
        command.envs(variables.iter().copied());
        Run::of(&mut command).succeeded(flags).value()["session"].clone()
    };
    assert_eq!(session(&[], &[]), Value::Null);
    assert_eq!(session(&[("CODEX_THREAD_ID", "x")], &[]), "x");
    assert_eq!(session(&[("CODEX_THREAD_ID", "x"), ("CLAUDE_CODE_SESSION_ID", "c")], &[]), "c");
    assert_eq!(session(&[("GEMINI_SESSION_ID", "g")], &[]), "g");
    assert_eq!(session(&[("ANTIGRAVITY_CONVERSATION_ID", "a")], &[]), "a");
    assert_eq!(session(&[("CLAUDE_CODE_SESSION_ID", "c"), ("BD_SESSION", "b")], &[]), "b");
    assert_eq!(session(&[("BD_SESSION", "b")], &["--session", "f"]), "f");
    let mut command = sandbox.command(&["heartbeat", "--json"]);
    Run::of(command.env("BD_SESSION", "two\nlines")).failed("BD_SESSION", "invalid_value");
}

#[test]
fn a_session_that_ended_gives_back_what_it_held() {
    both(|sandbox| {
        let (one, two) = (sandbox.create(&["One"]), sandbox.create(&["Two"]));
        json_in(sandbox, "first", &["claim", &one]);
        json_in(sandbox, "second", &["claim", &two]);
        let payload = json!({"session_id": "first", "hook_event_name": "SessionEnd", "reason": "other"});
        let ended =
            sandbox.run_with_input(&["session", "end", "--hook", "--json"], payload.to_string().as_bytes());
        assert_eq!(ended.succeeded("end").value()[0]["id"], json!(one));
        let bead = sandbox.show(&one);
        assert_eq!((&bead["status"], &bead["assignee"]), (&json!("open"), &Value::Null));
        assert!(bead["notes"][0]["content"].as_str().unwrap().contains("session"), "{bead}");
        assert_eq!(sandbox.show(&two)["status"], "in_progress");
        let listed = sandbox.json(&["session", "list"]);
        assert_eq!((&listed[0]["session"], &listed[0]["state"]), (&json!("second"), &json!("live")));
        assert_eq!(listed.as_array().unwrap().len(), 1);
        // A session whose claim was taken over does not release the claim of the new holder.
        json_in(sandbox, "second", &["session", "end", "--keep"]);
        json_in(sandbox, "third", &["claim", &two]);
        assert_eq!(json_in(sandbox, "second", &["session", "end"]), json!([]));
        assert_eq!(sandbox.show(&two)["status"], "in_progress");
        sandbox.error(&["session", "end"], "usage");
    });
}

#[test]
fn the_end_hook_leaves_no_trace_where_nothing_is_tracked() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let run = sandbox.run_with_input(&["session", "end", "--hook"], br#"{"session_id":"x"}"#);
    assert_eq!(run.succeeded("end").stdout, "");
    assert!(!sandbox.dir().join(".git/beads").exists());
}

#[test]
fn a_silent_session_is_shown_everywhere_and_can_be_taken_over() {
    both(|sandbox| {
        let id = sandbox.create(&["One"]);
        let claimed = json_in(sandbox, "first", &["--actor", "bob", "claim", &id]);
        age(sandbox, 59_000);
        assert_eq!(sandbox.show(&id)["silent_since"], Value::Null);
        let refused =
            run_in(sandbox, "second", &["claim", &id, "--take-over"]).failed("live", "already_claimed");
        assert_eq!(refused["details"]["silent_since"], Value::Null);
        age(sandbox, 2_000);
        let since = sandbox.show(&id)["silent_since"].as_str().unwrap().to_owned();
        assert_eq!(sandbox.json(&["list"])[0]["silent_since"], json!(since));
        assert!(sandbox.text(&["list"]).contains(&format!("silent since {since}")));
        assert!(sandbox.text(&["show", &id]).contains(&format!("silent since {since}")));
        let silent = &sandbox.json(&["status"])["silent"][0];
        assert_eq!((&silent["id"], &silent["since"]), (&json!(id), &json!(since)));
        assert!(sandbox.text(&["status"]).contains("--take-over"));
        assert_eq!(sandbox.json(&["session", "list"])[0]["state"], "silent");
        let refused = run_in(sandbox, "second", &["claim", &id]).failed("silent", "already_claimed");
        assert_eq!(refused["details"]["silent_since"], json!(since));
        let taken = json_in(sandbox, "second", &["claim", &id, "--take-over"]);
        assert_ne!(taken["fence"], claimed["fence"]);
        assert!(taken["brief"]["notes"][0]["content"].as_str().unwrap().contains("silent since"), "{taken}");
        assert_eq!(sandbox.show(&id)["silent_since"], Value::Null);
        // The fence of the old holder is refused.
        let fence = claimed["fence"].as_str().unwrap();
        let stale = &["--actor", "bob", "note", "add", &id, "mine", "--fence", fence];
        run_in(sandbox, "first", stale).failed("stale", "stale_claim");
    });
}

#[test]
fn any_call_of_a_session_and_any_use_of_the_fence_keeps_it_live() {
    both(|sandbox| {
        let id = sandbox.create(&["One"]);
        let claimed = json_in(sandbox, "first", &["claim", &id]);
        let fence = claimed["fence"].as_str().unwrap();
        age(sandbox, 100_000);
        json_in(sandbox, "first", &["ready"]);
        assert_eq!(sandbox.show(&id)["silent_since"], Value::Null);
        age(sandbox, 100_000);
        json_in(sandbox, "other", &["ready"]);
        assert!(sandbox.show(&id)["silent_since"].is_string());
        sandbox.json(&["note", "add", &id, "at work", "--fence", fence]);
        if sandbox.daemon_pid().is_some() {
            assert_eq!(sandbox.show(&id)["silent_since"], Value::Null);
        }
    });
}

#[test]
fn a_heartbeat_renews_a_lease_of_which_a_third_is_over() {
    both(|sandbox| {
        let (long, short) = (sandbox.create(&["Long"]), sandbox.create(&["Short"]));
        json_in(sandbox, "s", &["claim", &long]);
        json_in(sandbox, "s", &["claim", &short, "--lease", "5m"]);
        let expires = |id: &str| sandbox.show(id)["assignee_expires"].clone();
        let before = (expires(&long), expires(&short));
        assert_eq!(json_in(sandbox, "other", &["heartbeat"])["held"], json!([]));
        assert_eq!((expires(&long), expires(&short)), before);
        let beat = json_in(sandbox, "s", &["heartbeat"]);
        assert_eq!((&beat["renewed"], beat["held"].as_array().unwrap().len()), (&json!(1), 2));
        assert_eq!(expires(&long), before.0);
        assert!(expires(&short).as_str() > before.1.as_str());
    });
}

#[test]
fn a_restarted_agent_gets_its_own_beads_back() {
    both(|sandbox| {
        let ids: Vec<String> = (0..3).map(|number| sandbox.create(&[&format!("Bead {number}")])).collect();
        sandbox.json(&["claim", &ids[0]]);
        json_in(sandbox, "old", &["claim", &ids[1]]);
        sandbox.json_as("eve", &["claim", &ids[2]]);
        let run = run_in(sandbox, "new", &["claim", "--mine"]);
        assert_eq!((run.exit, &run.value()[0]["id"]), (Some(0), &json!(ids[0])), "{run:?}");
        assert!(run.stderr.contains(&ids[1]) && run.stderr.contains("active"), "{run:?}");
        age(sandbox, 61_000);
        let run = run_in(sandbox, "new", &["claim", "--mine"]);
        assert!(run.stderr.contains(&format!("bd claim {} --take-over", ids[1])), "{run:?}");
        // Claims of a session that ended can be taken at once and without a flag.
        json_in(sandbox, "old", &["session", "end", "--keep"]);
        assert_eq!(json_in(sandbox, "new", &["claim", &ids[1]])["renewed"], false);
        let mine = run_in(sandbox, "new", &["claim", "--mine"]).succeeded("mine").value();
        assert_eq!(mine.as_array().unwrap().len(), 2);
    });
}

#[test]
fn claims_of_silent_sessions_are_stolen_only_on_request_and_when_nothing_is_ready() {
    both(|sandbox| {
        let (urgent, other) = (sandbox.create(&["Urgent", "-p", "0"]), sandbox.create(&["Other"]));
        for id in [&urgent, &other] {
            json_in(sandbox, "dead", &["--actor", "bob", "claim", id]);
        }
        let free = sandbox.create(&["Free", "-p", "4"]);
        age(sandbox, 11 * 60_000);
        let steal = &["claim", "--next", "--steal-silent", "10m"];
        assert_eq!(json_in(sandbox, "s", steal)["id"], json!(free), "ready beads come first");
        run_in(sandbox, "s", &["claim", "--next"]).failed("nothing", "nothing_ready");
        run_in(sandbox, "s", &["claim", "--next", "--steal-silent", "1h"])
            .failed("too soon", "nothing_ready");
        let stolen = json_in(sandbox, "s", steal);
        assert_eq!(stolen["id"], json!(urgent));
        assert_eq!(sandbox.show(&other)["assignee"], "bob");
        let waiting = &["claim", "--next", "--steal-silent", "10m", "--wait", "60s"];
        assert_eq!(json_in(sandbox, "s", waiting)["id"], json!(other));
    });
}

#[test]
fn claims_keep_their_sessions_over_a_crash_of_the_daemon() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let id = sandbox.create(&["One"]);
    json_in(&sandbox, "first", &["claim", &id]);
    sandbox.kill_daemon();
    run_in(&sandbox, "second", &["claim", &id]).failed("after a crash", "already_claimed");
    assert_eq!(json_in(&sandbox, "first", &["claim", &id])["renewed"], true);
}

#[test]
fn worktrees_are_different_actors_and_the_setting_names_all_of_them() {
    let mut sandbox = Sandbox::new(Mode::Daemon);
    let id = sandbox.create(&["One"]);
    let by = |sandbox: &Sandbox| {
        let mut command = sandbox.command(&["heartbeat", "--json"]);
        command.env_remove("BD_ACTOR").env("USER", "ann");
        Run::of(&mut command).succeeded("heartbeat").value()["actor"].as_str().unwrap().to_owned()
    };
    let main = by(&sandbox);
    assert!(main.starts_with("ann@") && !main.contains('/'), "{main}");
    let tree = sandbox.root().join("tree");
    sandbox.repository().worktree("feature-x", &tree, None).unwrap();
    let repo = sandbox.dir().to_owned();
    sandbox.enter(&tree);
    assert_eq!(by(&sandbox), format!("{main}/feature-x"));
    let mut claim = sandbox.command(&["claim", &id]);
    claim.env_remove("BD_ACTOR").env("USER", "ann");
    assert_eq!(Run::of(&mut claim).exit, Some(0));
    sandbox.enter(&repo);
    let mut claim = sandbox.command(&["claim", &id, "--json"]);
    claim.env_remove("BD_ACTOR").env("USER", "ann");
    let refused = Run::of(&mut claim).failed("another worktree", "already_claimed");
    assert_eq!(refused["details"]["holder"], format!("{main}/feature-x"));
    sandbox.json(&["config", "set", "actor", "team"]);
    assert_eq!(by(&sandbox), "team");
    sandbox.error(&["config", "set", "actor", "two\nlines"], "invalid_value");
}
