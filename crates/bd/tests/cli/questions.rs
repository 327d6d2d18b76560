//! Asking a person, on every interface.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp::client::Client as Mcp;
use crate::sandbox::{Sandbox, both, wait_until};

fn tool(bd: &Sandbox, actor: &str, name: &str, input: &Value) -> Value {
    let run = bd.run_with_input(&["--actor", actor, "tool", name, "--apply"], input.to_string().as_bytes());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{name} {input}: {run:?}"))
}

#[test]
fn a_bead_with_a_question_waits_for_the_answer_and_is_then_offered_to_the_agent_that_asked() {
    both(|bd| {
        bd.run(&["migrate"]);
        let (id, other) = (bd.create(&["a", "-p", "0"]), bd.create(&["b"]));
        bd.json_as("ann", &["claim", &id]);
        let asked = bd.json_as("ann", &["ask", &id, "which index?", "--option", "hash", "--option", "btree"]);
        assert_eq!((&asked["id"], &asked["assignee"]), (&json!(id), &Value::Null), "{asked}");
        assert_eq!(bd.ids(&["ready"]), std::slice::from_ref(&other));
        let open = bd.json(&["questions"]);
        assert_eq!(open[0]["id"], json!(id), "{open}");
        assert_eq!(open[0]["options"], json!(["hash", "btree"]));
        assert_eq!(open[0]["asked_by"], "ann");
        assert!(bd.text(&["questions"]).contains(&format!("bd answer {id}")));
        assert_eq!(bd.json(&["status"])["questions"][0]["text"], "which index?");
        let why = bd.json(&["ready", "--explain"])["not_ready"][0]["reasons"][0].clone();
        assert_eq!((&why["reason"], &why["question"]), (&json!("asked"), &json!("which index?")));

        bd.error(&["answer", &other, "x"], "invalid_value");
        bd.json_as("eve", &["answer", &id, "the second"]);
        assert_eq!(bd.json(&["questions"]), json!([]));
        assert_eq!(bd.json_as("bob", &["claim", "--next"])["id"], json!(other), "the offer is ann's");
        let taken = bd.json_as("ann", &["claim", "--next"]);
        assert_eq!(taken["id"], json!(id));
        let notes = taken["brief"]["notes"].to_string();
        assert!(notes.contains("the second"), "the answer is in the brief: {taken}");
        let events = bd.text(&["watch", "--since", "0", "--timeout", "0", "--json"]);
        assert!(events.contains("\"asked\"") && events.contains("\"answered\""), "{events}");
    });
}

#[test]
fn the_tools_and_mcp_ask_and_answer_too() {
    both(|bd| {
        bd.run(&["migrate"]);
        let id = bd.create(&["a"]);
        let mut client = Mcp::start_with(bd.command(&["--actor", "mia", "mcp"]));
        client.call("next", json!({}));
        let asked = client.call("done", json!({"ask": "may I drop the table?"}));
        assert!(asked.starts_with(&format!("{id} asked")), "{asked}");
        let open = tool(bd, "eve", "beads.questions", &json!({}));
        let question = open["result"][0]["question"].as_str().unwrap().to_owned();
        tool(bd, "eve", "beads.answer", &json!({"id": id, "text": "yes, drop it", "question": question}));
        let brief = client.call("next", json!({}));
        assert!(brief.starts_with(&id) && brief.contains("yes, drop it"), "{brief}");
        client.finish();
        let again = tool(bd, "mia", "beads.ask", &json!({"id": id, "text": "and the index?"}));
        assert_eq!(again["result"]["assignee"], Value::Null, "{again}");
    });
}

#[test]
fn ask_and_wait_keeps_the_claim_until_the_answer_or_the_timeout() {
    both(|bd| {
        bd.run(&["migrate"]);
        let id = bd.create(&["a"]);
        bd.json_as("ann", &["claim", &id]);
        let mut command = bd.command(&["--actor", "ann", "ask", &id, "now?", "--wait", "60s", "--json"]);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the question is asked", || !bd.json(&["questions"]).as_array().unwrap().is_empty());
        assert_eq!(bd.show(&id)["assignee"], "ann", "the claim is kept");
        bd.json_as("eve", &["answer", &id, "yes"]);
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!((&answer["answer"], &answer["by"]), (&json!("yes"), &json!("eve")));
        assert_eq!(bd.show(&id)["assignee"], "ann");

        let late = bd.error_as("ann", &["ask", &id, "and now?", "--wait", "1ms"], "timeout");
        assert!(late["message"].as_str().unwrap().contains("given back"), "{late}");
        assert_eq!(bd.show(&id)["assignee"], Value::Null);
        assert_eq!(bd.json(&["questions"])[0]["text"], "and now?");
    });
}

#[test]
fn wait_puts_a_bead_off_until_a_time_or_another_bead() {
    both(|bd| {
        bd.run(&["migrate"]);
        let (id, other) = (bd.create(&["a"]), bd.create(&["b"]));
        bd.json_as("ann", &["claim", &id]);
        bd.json_as("ann", &["wait", &id, "--until-closed", &other, "--until", "+2d"]);
        let bead = bd.show(&id);
        assert_eq!(bead["assignee"], Value::Null);
        assert!(bead["defer_until"].is_string(), "{bead}");
        assert_eq!(bd.ids(&["blocked"]), std::slice::from_ref(&id));
        let run = bd.run(&["wait", &id]);
        assert_eq!(run.exit, Some(2), "{run:?}");
        assert!(run.stderr.contains("--until <TIME>|--until-closed <ID>"), "{run:?}");
        // It is not held any more, which needs no remark.
        let run = bd.run(&["wait", &id, "--until", "+3d"]).succeeded("again");
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), (format!("updated {id}: a\n").as_str(), ""));
    });
}
