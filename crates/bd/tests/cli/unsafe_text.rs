//! Text that controls a terminal, reorders a line or is a spreadsheet formula is shown escaped on every
//! interface, and stays unchanged in JSON.

use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

/// An escape sequence, a C1 control, a bidirectional override, an invisible letter.
const TEXT: &str = "=1+1 \u{1b}[31m \u{9b}31m \u{202e}abc \u{e0041} end";

fn is_visible(text: &str) -> bool {
    !text.contains(|c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    })
}

#[test]
fn every_interface_escapes_terminal_controls() {
    both(|bd| {
        let id = bd.create(&["t", "-d", TEXT, "--labels", "x"]);
        bd.json(&["note", "add", &id, TEXT]);
        for args in [
            &["show", &id, "--json"][..],
            &["show", &id],
            &["list", "--json"],
            &["log", &id, "--json"],
            &["export"],
            &["export", "--json"],
            &["export", "--format", "csv"],
            &["export", "--format", "md"],
            &["export", "--format", "dot"],
            &["export", "--format", "mermaid"],
        ] {
            let text = bd.text(args);
            assert!(is_visible(&text), "{args:?}: {text:?}");
        }
        assert_eq!(bd.show(&id)["description"], TEXT, "it means the same");
        let line: Value = serde_json::from_str(&bd.text(&["export"])).unwrap();
        assert_eq!(line["description"], TEXT);
        let csv = bd.text(&["export", "--format", "csv"]);
        assert!(csv.contains(",'=1+1 "), "{csv}");
        let tool = bd.run_with_input(&["tool", "beads.show"], json!({"id": id}).to_string().as_bytes());
        assert!(is_visible(&tool.stdout) && tool.exit == Some(0), "{tool:?}");
    });
}

#[test]
fn a_model_name_and_a_path_are_escaped_too() {
    let mut bd = Sandbox::new(Mode::Embedded);
    let id = bd.create(&["t", "-d", TEXT]);
    let mut client = Client::start(&bd);
    let raw = client.ask("tools/call", json!({"name": "beads_show", "arguments": {"id": id}}));
    let envelope = raw["result"]["content"][0]["text"].as_str().unwrap();
    assert!(is_visible(envelope), "{envelope:?}");
    let value: Value = serde_json::from_str(envelope).unwrap();
    assert_eq!(value["result"]["description"], TEXT);
    let odd = bd.root().join("a\u{1b}]0;b\u{7}");
    crate::sandbox::commit_something(&odd);
    bd.enter(&odd);
    for args in [&["where"][..], &["where", "--json"]] {
        let text = bd.text(args);
        assert!(is_visible(&text), "{args:?}: {text:?}");
    }
}
