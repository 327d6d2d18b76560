use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, both};

fn lines(sandbox: &Sandbox, flags: &[&str], input: &[Value]) -> (Vec<Value>, i32) {
    let text: String = input.iter().map(|line| format!("{line}\n")).collect();
    let run = sandbox.run_with_input(&[&["batch"], flags].concat(), text.as_bytes());
    let lines = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, run.exit.unwrap())
}

#[test]
fn each_operation_is_answered_with_one_line() {
    both(|sandbox| {
        let id = sandbox.create(&["Old"]);
        let (done, exit) = lines(
            sandbox,
            &[],
            &[
                json!({"op": "create", "title": "New", "labels": ["x"]}),
                json!({"op": "note_add", "id": id, "content": "Seen."}),
                json!({"op": "paint", "id": id}),
                json!({"op": "close", "id": id, "reason": "done"}),
                json!({"op": "close"}),
                json!(["no object"]),
            ],
        );
        let oks: Vec<_> = done.iter().map(|line| line["ok"] == true).collect();
        assert_eq!((oks, exit), (vec![true, true, false, true, false, false], 2), "{done:?}");
        assert_eq!(done[0]["result"]["labels"], json!(["x"]));
        assert_eq!((&done[2]["error"], &done[2]["field"]), (&json!("invalid_value"), &json!("op")));
        assert_eq!((&done[4]["error"], &done[4]["field"]), (&json!("missing_field"), &json!("id")));
        assert_eq!(sandbox.show(&id)["status"], "closed");
        let (refused, exit) = lines(sandbox, &[], &[json!({"op": "close", "id": "bd-nope"})]);
        assert_eq!((&refused[0]["error"], exit), (&json!("not_found"), 1));
    });
}

#[test]
fn atomic_is_all_or_none() {
    both(|sandbox| {
        let made = [json!({"op": "create", "title": "A"}), json!({"op": "close", "id": "bd-nope"})];
        let (refused, exit) = lines(sandbox, &["--atomic"], &made);
        assert_eq!((refused.len(), &refused[0]["details"]["index"], exit), (1, &json!(1), 1), "{refused:?}");
        let wrong = [json!({"op": "create", "title": "A"}), json!({"op": "create"})];
        assert_eq!(lines(sandbox, &["--atomic"], &wrong).1, 2);
        assert!(sandbox.ids(&["list"]).is_empty());
        let fine = [json!({"op": "create", "title": "A"}), json!({"op": "create", "title": "B"})];
        assert_eq!(lines(sandbox, &["--atomic", "--dry-run"], &fine).0.len(), 2);
        assert!(sandbox.ids(&["list"]).is_empty());
        let twice =
            || lines(sandbox, &["--atomic", "--request-id", "r1"], &fine).0[1]["result"]["id"].clone();
        assert_eq!(twice(), twice());
        assert_eq!(sandbox.ids(&["list"]).len(), 2);
    });
}

#[test]
fn a_repeated_batch_is_applied_once() {
    both(|sandbox| {
        let many: Vec<_> =
            (0..1_500).map(|n| json!({"op": "create", "title": format!("Bead {n}")})).collect();
        let run = || lines(sandbox, &["--request-id", "r1"], &many).0;
        let first = run();
        assert_eq!(first.len(), 1_500);
        let ids = |lines: &[Value]| lines.iter().map(|line| line["result"]["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&run()), ids(&first));
        assert_eq!(sandbox.ids(&["list"]).len(), 1_500);
        assert!(lines(sandbox, &["--dry-run"], &many[..2]).0.iter().all(|line| line["ok"] == true));
        assert_eq!(sandbox.ids(&["list"]).len(), 1_500);
    });
}

/// A client may wait for each answer before it sends the next line.
#[test]
fn answers_do_not_wait_for_the_end_of_input() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let mut child = sandbox.command(&["batch"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for title in ["A", "B"] {
        writeln!(stdin, "{}", json!({"op": "create", "title": title})).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["result"]["title"], title);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
