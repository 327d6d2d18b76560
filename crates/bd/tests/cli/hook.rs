//! The hooks that `bd setup` installs. `.ci/suites/agents` runs them with the payloads of each program.

use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

fn hook(bd: &Sandbox, args: &[&str], payload: &Value) -> Value {
    let run = bd.run_with_input(&[&["hook"], args].concat(), payload.to_string().as_bytes());
    assert_eq!((run.exit, run.stderr.as_str()), (Some(0), ""), "{args:?}: {run:?}");
    run.value()
}

fn stop(session: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "Stop", "stop_hook_active": false})
}

#[test]
fn a_stopping_agent_is_reminded_once_of_each_claim() {
    both(|bd| {
        let first = bd.create(&["Draw the map"]);
        assert_eq!(hook(bd, &["stop"], &stop("s1")), json!({}), "nothing is held");
        bd.text(&["--session", "s1", "claim", &first]);
        let reminded = hook(bd, &["stop"], &stop("s1"));
        let reason = reminded["reason"].as_str().unwrap();
        assert_eq!(reminded["decision"], "block");
        assert!(reason.starts_with(&format!("You still hold {first} (Draw the map). Finish it")), "{reason}");
        // Claude Code does not always say that a hook made it continue.
        assert_eq!(hook(bd, &["stop"], &stop("s1")), json!({}));
        let second = bd.create(&["Walk the map"]);
        bd.text(&["--session", "s1", "claim", &second]);
        let again = json!({"session_id": "s1", "stop_hook_active": true});
        assert_eq!(hook(bd, &["stop"], &again), json!({}), "never twice in a row");
        let reason =
            hook(bd, &["stop", "--client", "cursor"], &json!({"conversation_id": "s1", "loop_count": 0}));
        let reason = reason["followup_message"].as_str().unwrap().to_owned();
        assert!(reason.contains(&second) && !reason.contains(&first), "{reason}");
        let third = bd.create(&["Fold the map"]);
        bd.text(&["--session", "s1", "claim", &third]);
        let antigravity = |idle: bool| {
            let payload = json!({"conversationId": "s1", "error": "", "fullyIdle": idle});
            hook(bd, &["stop", "--client", "antigravity"], &payload)
        };
        assert_eq!(antigravity(false), json!({}), "background tasks are still running");
        let answer = antigravity(true);
        assert!(
            answer["decision"] == "continue" && answer["reason"].as_str().unwrap().contains(&third),
            "{answer}"
        );
    });
}

#[test]
fn sessions_and_subagents_are_reminded_only_of_their_own_claims() {
    both(|bd| {
        let (mine, theirs) = (bd.create(&["Mine"]), bd.create(&["Of a subagent"]));
        bd.text(&["--session", "s1", "claim", &mine]);
        bd.text(&["--session", "s1", "--actor", "ann@here/a7", "claim", &theirs]);
        assert_eq!(hook(bd, &["stop"], &stop("s2")), json!({}));
        let reason = hook(bd, &["stop"], &stop("s1"))["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(&mine) && !reason.contains(&theirs), "{reason}");
        let subagent = |again: bool| json!({"session_id": "s1", "agent_id": "a7", "stop_hook_active": again});
        let context = hook(bd, &["subagent-start"], &subagent(false));
        let context = context["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(
            context.contains("\"agent\": \"a7\"") && context.contains("--actor 'ann@here/a7'"),
            "{context}"
        );
        let reason = hook(bd, &["subagent-stop"], &subagent(false))["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(&theirs) && !reason.contains(&mine), "{reason}");
        assert!(reason.contains(&format!("bd --actor 'ann@here/a7' close {theirs}")), "{reason}");
        assert_eq!(hook(bd, &["subagent-stop"], &subagent(true)), json!({}));
        assert_eq!(bd.show(&theirs)["assignee"], Value::Null, "released when it stops for good");
        assert_eq!(bd.show(&mine)["assignee"], "ann@here");
    });
}

#[test]
fn the_end_of_a_session_releases_what_it_holds() {
    both(|bd| {
        let (held, other) = (bd.create(&["Held"]), bd.create(&["Of another session"]));
        bd.text(&["--session", "s1", "claim", &held]);
        bd.text(&["--session", "s2", "claim", &other]);
        hook(bd, &["stop"], &stop("s1"));
        hook(bd, &["end"], &json!({"sessionId": "s1", "reason": "complete"}));
        assert_eq!((&bd.show(&held)["status"], &bd.show(&held)["assignee"]), (&json!("open"), &Value::Null));
        assert_eq!(bd.show(&other)["assignee"], "ann@here");
        hook(bd, &["end"], &json!({}));
        assert_eq!(bd.show(&other)["assignee"], "ann@here", "no session ended");
    });
}

#[test]
fn a_hook_never_fails_and_never_blocks_by_mistake() {
    let bd = Sandbox::new(Mode::Embedded);
    let bead = bd.create(&["Held"]);
    bd.text(&["--session", "s1", "claim", &bead]);
    for event in ["stop", "end", "subagent-start", "subagent-stop"] {
        for payload in ["", "{", "[]", "null", "\u{0}", "{\"session_id\": [1]}"] {
            let run = bd.run_with_input(&["hook", event], payload.as_bytes());
            assert_eq!(
                (run.exit, run.stdout.as_str(), run.stderr.as_str()),
                (Some(0), "{}\n", ""),
                "{event} {payload}"
            );
        }
        let outside = Sandbox::without_repository(Mode::Embedded);
        let run = outside.run_with_input(&["hook", event], b"{\"session_id\": \"s1\"}");
        assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "{}\n"), "{event} outside");
    }
    // A reminder that cannot be recorded is not given, because it would be repeated every time.
    let place = bd.json(&["where"]);
    std::fs::write(std::path::Path::new(place["path"].as_str().unwrap()).join("reminders"), "in the way")
        .unwrap();
    assert_eq!(hook(&bd, &["stop"], &stop("s1")), json!({}));
}

#[test]
fn start_hooks_answer_in_the_format_of_each_program() {
    let bd = Sandbox::new(Mode::Embedded);
    bd.create(&["Work"]);
    let text = bd.text(&["prime"]);
    let start = |flag: &str| {
        let run = bd.run_with_input(&["prime", flag], b"{\"session_id\": \"s1\", \"source\": \"startup\"}");
        assert_eq!(run.exit, Some(0), "{run:?}");
        run.value()
    };
    let wrapped = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}});
    for flag in ["--hook", "--hook=claude", "--hook=codex", "--hook=gemini"] {
        assert_eq!(start(flag), wrapped);
    }
    assert_eq!(start("--hook=cursor"), json!({"additional_context": text}));
    assert_eq!(start("--hook=copilot"), json!({"additionalContext": text}));
    // Antigravity calls its hook before each call of the model.
    assert_eq!(start("--hook=antigravity"), json!({"injectSteps": [{"ephemeralMessage": text}]}));
    let later = br#"{"conversationId": "s1", "invocationNum": 1}"#;
    assert_eq!(bd.run_with_input(&["prime", "--hook=antigravity"], later).value(), json!({}));
}

/// Hooks and the MCP server have the same parent process: here this test.
#[test]
fn claims_through_the_mcp_server_of_the_same_program_belong_to_its_session() {
    both(|bd| {
        let bead = bd.create(&["Through the server"]);
        let mut command = bd.command(&["mcp"]);
        command.env_remove("BD_ACTOR");
        let mut client = Client::start_with(command);
        client.call("next", json!({}));
        let holder = bd.show(&bead)["assignee"].clone();
        assert_ne!(holder, "ann@here");
        assert_eq!(
            hook(bd, &["stop", "--client", "codex"], &stop("s1")),
            json!({}),
            "it may run other sessions too"
        );
        let reason = hook(bd, &["stop"], &stop("s1"))["reason"].as_str().unwrap().to_owned();
        let finish =
            format!("You still hold {bead} (Through the server). Finish it (done {{\"id\":\"{bead}\"");
        assert!(reason.starts_with(&finish), "{reason}");
        assert_eq!(hook(bd, &["stop"], &stop("s1")), json!({}));
        hook(bd, &["end"], &json!({"session_id": "s1", "reason": "clear"}));
        assert_eq!(bd.show(&bead)["assignee"], Value::Null, "released, although the server lives on");
        client.call("next", json!({}));
        assert_eq!(bd.show(&bead)["assignee"], holder, "the next session claims it again");
    });
}
