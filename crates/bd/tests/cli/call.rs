use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox};

/// Sends lines to `bd call` and returns its answers.
fn call(bd: &Sandbox, flags: &[&str], lines: &[Value]) -> Vec<Value> {
    let mut command = bd.command(&[flags, &["call"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: &str, call: &Value) -> Value {
    json!({"client": "0.10.0", "actor": "ann", "request_id": id, "call": call})
}

#[test]
fn requests_are_answered_in_order_with_and_without_a_daemon() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let bd = Sandbox::new(mode);
        let create =
            request("r1", &json!({"mutate": {"ops": [{"op": "create", "title": "Via call", "id": "bd-1"}]}}));
        let count = json!({"client": "0.10.0", "actor": "ann", "call": {"query": {"count": {"filter": {}}}}});
        let answers = call(&bd, &[], &[create.clone(), create, json!("no request"), count]);
        assert_eq!(answers[0]["result"]["id"], "bd-1");
        assert_eq!(answers[1]["result"]["id"], "bd-1", "a repeated request gets the first answer");
        assert_eq!(answers[2]["error"]["code"], "invalid_request");
        assert_eq!(answers[3]["result"]["count"], 1);
        assert_eq!(answers.len(), 4);
    }
}

#[test]
fn other_formats_are_refused() {
    let bd = Sandbox::new(Mode::Daemon);
    let text = json!({"client": "0.10.0", "actor": "ann", "call": {"query": "status"}, "output": {"format": "text"}});
    assert_eq!(call(&bd, &[], &[text])[0]["error"]["code"], "invalid_request");
}
