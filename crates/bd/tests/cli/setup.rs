use serde_json::json;

use crate::sandbox::{Mode, Sandbox};

#[test]
fn twice_is_once_and_removed_is_gone() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let files = || -> Vec<_> {
        let mut names: Vec<_> =
            std::fs::read_dir(sandbox.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = files();
    for client in ["claude", "codex", "gemini", "cursor", "generic"] {
        let error = sandbox.error(&["setup", client, "--check"], "not_set_up");
        assert!(error["details"]["files"].as_array().unwrap().contains(&json!("AGENTS.md")));
        let written = sandbox.json(&["setup", client]);
        let states = |answer: &serde_json::Value| -> Vec<String> {
            answer["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|file| file["state"].as_str().unwrap().to_owned())
                .collect()
        };
        assert!(states(&written).iter().all(|state| state == "written"), "{written}");
        assert!(states(&sandbox.json(&["setup", client])).iter().all(|state| state == "unchanged"));
        sandbox.json(&["setup", client, "--check"]);
        let agents = std::fs::read_to_string(sandbox.dir().join("AGENTS.md")).unwrap();
        assert!(!agents.contains("commit") && !agents.contains("push"), "{agents}");
        let printed = sandbox.text(&["setup", client, "--print"]);
        assert!(printed.contains("# AGENTS.md\n<!-- BEGIN BEADS -->"), "{printed}");
        sandbox.json(&["setup", client, "--remove"]);
        assert!(!sandbox.dir().join("AGENTS.md").exists());
        assert!(
            states(&sandbox.json(&["setup", client, "--remove"])).iter().all(|state| state == "unchanged")
        );
    }
    assert_eq!(files(), before, "nothing of ours is left");
}

#[test]
fn every_program_gets_the_hook_that_it_understands() {
    let sandbox = Sandbox::new(Mode::Embedded);
    for (client, file, command) in [
        ("claude", ".claude/settings.json", "bd prime"),
        ("gemini", ".gemini/settings.json", "bd prime --hook"),
        ("codex", ".codex/hooks.json", "bd prime --hook"),
    ] {
        sandbox.text(&["setup", client]);
        let text = std::fs::read_to_string(sandbox.dir().join(file)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let wanted = json!([{"hooks": [{"type": "command", "command": command}]}]);
        assert_eq!(read["hooks"]["SessionStart"], wanted, "{client}");
    }
    sandbox.create(&["A store"]);
    let hook: serde_json::Value = serde_json::from_str(&sandbox.text(&["prime", "--hook"])).unwrap();
    assert_eq!(hook["hookSpecificOutput"]["hookEventName"], "SessionStart");
    assert_eq!(hook["hookSpecificOutput"]["additionalContext"], sandbox.text(&["prime"]));
    let outside = Sandbox::without_repository(Mode::Embedded);
    assert_eq!(outside.text(&["prime", "--hook"]), "");
}

#[test]
fn what_is_not_ours_stays() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let theirs = "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"zeta\": 1.50}\n";
    std::fs::write(sandbox.dir().join(".mcp.json"), theirs).unwrap();
    std::fs::write(sandbox.dir().join("AGENTS.md"), "# Rules\n").unwrap();
    sandbox.text(&["setup", "claude"]);
    let text = std::fs::read_to_string(sandbox.dir().join(".mcp.json")).unwrap();
    assert!(text.contains("1.50") && text.contains("{\"command\": \"x\"}"), "{text}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["mcpServers"]["beads"], json!({"command": "bd", "args": ["mcp"]}));
    sandbox.text(&["setup", "claude", "--remove"]);
    assert_eq!(std::fs::read_to_string(sandbox.dir().join("AGENTS.md")).unwrap(), "# Rules\n");
    std::fs::write(sandbox.dir().join(".mcp.json"), "{ // a comment\n}").unwrap();
    sandbox.error(&["setup", "claude"], "cannot_edit");
    assert_eq!(std::fs::read_to_string(sandbox.dir().join(".mcp.json")).unwrap(), "{ // a comment\n}");
}
