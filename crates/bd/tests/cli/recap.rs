use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;

use crate::sandbox::{Mode, Sandbox, both};

/// Raises the format first, because the first evidence or handover would announce it on standard error.
fn raise_format(bd: &Sandbox) {
    let id = bd.create(&["Old"]);
    let raised = bd.run(&["close", &id, "--evidence", "cmd:true", "--json"]);
    assert_eq!(raised.exit, Some(0), "{raised:?}");
    bd.json(&["delete", &id]);
}

/// A store with closed, cancelled, blocked, reclaimed and offered work.
fn a_night(bd: &Sandbox) {
    raise_format(bd);
    for id in ["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"] {
        bd.create(&[&format!("Bead {id}"), "--id", id]);
    }
    bd.json_as("bob", &["claim", "bd-1"]);
    bd.json_as("bob", &["close", "bd-1", "--reason", "works", "--evidence", "cmd:cargo test"]);
    bd.json(&["cancel", "bd-2", "--reason", "dropped"]);
    bd.json(&["dep", "add", "bd-4", "bd-3"]);
    bd.json_as("cy", &["claim", "bd-3", "--lease", "1ms"]);
    bd.json(&["reclaim", "--expired"]);
    bd.json_as("bob", &["claim", "bd-3"]);
    bd.json_as("bob", &["claim", "bd-5"]);
    bd.json_as("bob", &["handover", "bd-5", "--to", "dee", "--within", "1ms"]);
}

#[test]
fn a_recap_names_what_was_done_lost_and_left() {
    both(|bd| {
        a_night(bd);
        let recap = bd.json(&["recap", "--since", "1h"]);
        let ids = |list: &str| -> Vec<String> {
            let rows = recap[list].as_array().unwrap();
            rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(recap["complete"], true, "{recap}");
        assert_eq!(ids("created"), ["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]);
        assert_eq!(ids("closed"), ["bd-1"]);
        let closed = &recap["closed"][0];
        assert_eq!((&closed["by"], &closed["reason"]), (&json!("bob"), &json!("works")));
        assert_eq!(closed["evidence"], json!(["cmd:cargo test"]));
        assert!(closed["took_ms"].is_u64(), "{closed}");
        assert_eq!(ids("failed"), ["bd-2"]);
        assert_eq!((ids("reclaimed"), &recap["reclaimed"][0]["holder"]), (vec!["bd-3".into()], &json!("cy")));
        assert_eq!(
            (ids("done_twice"), &recap["done_twice"][0]["by"]),
            (vec!["bd-3".into()], &json!(["cy", "bob"]))
        );
        let keystone = &recap["keystone"];
        assert_eq!((&keystone["id"], &keystone["waiting"]), (&json!("bd-3"), &json!(1)));
        assert_eq!(keystone["holder"], "bob");
        assert_eq!(
            (ids("undelivered"), &recap["undelivered"][0]["to"]),
            (vec!["bd-5".into()], &json!("dee"))
        );
        assert_eq!(bd.json(&["recap", "--since", "0s"])["closed"], json!([]), "nothing is that new");
        let text = bd.text(&["recap"]);
        for part in [
            "1 closed, 5 created, 1 failed, 1 reclaimed, 0 conflicts",
            "\nKeystone\n",
            "(cmd:cargo test): works",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let page = bd.text(&["recap", "--since", "yesterday", "--format", "md"]);
        assert!(
            page.starts_with("# Recap\n") && page.contains("\n## Closed\n\n- `bd-1` Bead bd-1, by bob"),
            "{page}"
        );
        bd.error(&["recap", "--since", "last week"], "invalid_value");
    });
}

#[test]
fn a_store_whose_log_is_younger_uses_the_history_of_the_ref() {
    let bd = Sandbox::new(Mode::Embedded);
    a_night(&bd);
    bd.text(&["sync"]);
    for file in std::fs::read_dir(bd.repository().path().join("beads")).unwrap() {
        let path = file.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("events.") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let recap = bd.json(&["recap", "--since", "1h"]);
    assert_eq!(
        (&recap["complete"], recap["closed"].as_array().unwrap().len()),
        (&json!(false), 1),
        "{recap}"
    );
    assert!(bd.text(&["recap"]).contains("does not cover the whole period"));
}

#[test]
fn a_brief_recap_stays_within_its_tokens_whatever_happened() {
    let bd = Sandbox::new(Mode::Embedded);
    raise_format(&bd);
    let odd = "漢字の長い題名でも収まる 🦀🦀🦀 qzxv7k-9fj2w_w8d0c 漢字の長い題名でも収まる qzxv7k9fj2";
    for number in 0..12 {
        let (id, actor) = (format!("bd-q{number}zx9k"), format!("{number} {odd}"));
        bd.create(&[&format!("{number} {odd}"), "--id", &id]);
        bd.json_as(&actor, &["claim", &id, "--lease", "1ms"]);
        if number % 2 == 0 {
            bd.json_as(odd, &["claim", &id]);
            bd.json_as(odd, &["close", &id]);
        } else {
            bd.json_as(&actor, &["handover", &id, "--to", odd, "--within", "1ms"]);
        }
    }
    let brief = bd.text(&["recap", "--brief"]);
    let tokens = o200k_base_singleton().encode_ordinary(&brief).len();
    assert!(brief.contains("6 closed") && brief.contains("Done twice: "), "{brief}");
    assert!(tokens <= 400, "{tokens} tokens: {brief}");
    let json: Value = bd.json(&["recap", "--brief"]);
    assert!(json["text"].as_str().unwrap().contains("6 closed"), "{json}");
}
