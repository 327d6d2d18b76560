use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox};

const CLIENTS: [&str; 11] = [
    "claude",
    "codex",
    "cursor",
    "gemini",
    "antigravity",
    "copilot",
    "opencode",
    "aider",
    "windsurf",
    "zed",
    "generic",
];

/// Returns every file of the project, except those of git.
fn files(sandbox: &Sandbox) -> BTreeSet<PathBuf> {
    fn below(directory: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") {
                continue;
            }
            found.insert(path.clone());
            if path.is_dir() {
                below(&path, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    below(sandbox.dir(), &mut found);
    found
}

fn states(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap().iter();
    files.map(|file| file["state"].as_str().unwrap().to_owned()).collect()
}

fn read(sandbox: &Sandbox, file: &str) -> String {
    std::fs::read_to_string(sandbox.dir().join(file)).unwrap()
}

fn read_json(sandbox: &Sandbox, file: &str) -> Value {
    serde_json::from_str(&read(sandbox, file)).unwrap()
}

#[test]
fn setup_is_idempotent_and_can_be_removed() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let before = files(&sandbox);
    for client in CLIENTS {
        let error = sandbox.error(&["setup", client, "--check"], "not_set_up");
        assert!(error["details"]["files"].as_array().unwrap().contains(&json!("AGENTS.md")));
        let written = sandbox.json(&["setup", client]);
        assert!(states(&written).iter().all(|state| state == "written"), "{written}");
        assert!(states(&sandbox.json(&["setup", client])).iter().all(|state| state == "unchanged"));
        sandbox.json(&["setup", client, "--check"]);
        let agents = read(&sandbox, "AGENTS.md");
        assert!(!agents.contains("commit") && !agents.contains("push"), "{agents}");
        let printed = sandbox.text(&["setup", client, "--print"]);
        assert!(printed.contains(&format!("# AGENTS.md\n<!-- BEGIN BEADS for {client} -->")), "{printed}");
        sandbox.json(&["setup", client, "--remove"]);
        assert_eq!(files(&sandbox), before, "nothing of ours is left of {client}");
        let removed = sandbox.json(&["setup", client, "--remove"]);
        assert!(states(&removed).iter().all(|state| state == "unchanged"), "{removed}");
    }
}

#[test]
fn all_clients_are_set_up_at_once_and_removed_one_by_one() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let before = files(&sandbox);
    sandbox.error(&["setup", "--all", "--check"], "not_set_up");
    sandbox.error(&["setup"], "usage");
    sandbox.text(&["setup", "--all"]);
    assert!(states(&sandbox.json(&["setup", "--all"])).iter().all(|state| state == "unchanged"));
    sandbox.json(&["setup", "--all", "--check"]);
    let printed = sandbox.text(&["setup", "--all", "--print"]);
    assert_eq!(printed.matches("# .mcp.json\n").count(), 1, "each file once: {printed}");
    assert!(printed.contains("~/.codeium/windsurf/mcp_config.json"), "what a person must do by hand");
    for (index, client) in CLIENTS.iter().enumerate() {
        let removed = sandbox.json(&["setup", client, "--remove"]);
        for left in &CLIENTS[index + 1..] {
            sandbox.json(&["setup", left, "--check"]);
        }
        // Copilot also starts the server configured in .mcp.json, and many programs read the skill.
        let state = |file: &str| {
            let mut rows = removed["files"].as_array().unwrap().iter();
            rows.find(|row| row["file"] == file).map(|row| row["state"].clone())
        };
        match *client {
            "claude" => assert_eq!(state(".mcp.json"), Some(json!("kept"))),
            "codex" => assert_eq!(state(".agents/skills/beads/SKILL.md"), Some(json!("kept"))),
            "copilot" => assert_eq!(state(".mcp.json"), Some(json!("removed"))),
            "zed" => assert_eq!(state(".agents/skills/beads/SKILL.md"), Some(json!("removed"))),
            _ => {}
        }
    }
    assert_eq!(files(&sandbox), before);
}

#[test]
fn every_program_gets_the_hooks_that_it_understands() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let group = |command: &str, timeout: u32| json!([{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]);
    for (client, file, event, wanted) in [
        ("claude", ".claude/settings.json", "SessionStart", group("bd prime --hook", 10)),
        ("claude", ".claude/settings.json", "SessionEnd", group("exec bd hook end", 10)),
        ("gemini", ".gemini/settings.json", "AfterAgent", group("exec bd hook stop --client gemini", 10_000)),
        ("codex", ".codex/hooks.json", "SubagentStop", group("bd hook subagent-stop --client codex", 10)),
        (
            "cursor",
            ".cursor/hooks.json",
            "stop",
            json!([{"command": "bd hook stop --client cursor", "timeout": 10, "loop_limit": 1}]),
        ),
        (
            "copilot",
            ".github/hooks/beads.json",
            "Stop",
            json!([{"type": "command", "bash": "exec bd hook stop --client copilot", "timeoutSec": 10}]),
        ),
    ] {
        sandbox.text(&["setup", client]);
        assert_eq!(read_json(&sandbox, file)["hooks"][event], wanted, "{client}");
    }
    assert_eq!(read_json(&sandbox, ".cursor/hooks.json")["version"], 1);
    // Antigravity ignores the whole file if anything in it is wrong. Each key is the name of a group.
    sandbox.text(&["setup", "antigravity"]);
    let hook = |command: &str| json!([{"type": "command", "command": command, "timeout": 10}]);
    let group = json!({
        "PreInvocation": hook("bd prime --hook=antigravity"),
        "Stop": hook("bd hook stop --client antigravity"),
    });
    assert_eq!(read_json(&sandbox, ".agents/hooks.json"), json!({"beads": group}));
    sandbox.text(&["setup", "opencode"]);
    let plugin = read(&sandbox, ".opencode/plugins/beads.js");
    assert!(plugin.contains("session.idle") && plugin.contains("--hook=opencode"), "{plugin}");
}

/// A project that an earlier version set up: its hook, and a section that names no client.
#[test]
fn files_of_an_earlier_version_are_replaced() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let before = files(&sandbox);
    std::fs::create_dir(sandbox.dir().join(".claude")).unwrap();
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "bd prime"}]}]}});
    std::fs::write(sandbox.dir().join(".claude/settings.json"), hook.to_string()).unwrap();
    std::fs::write(sandbox.dir().join("AGENTS.md"), "<!-- BEGIN BEADS -->\nolder\n<!-- END BEADS -->\n")
        .unwrap();
    sandbox.text(&["setup", "cursor"]);
    assert!(read(&sandbox, "AGENTS.md").starts_with("<!-- BEGIN BEADS for claude cursor -->\n## Tasks"));
    sandbox.text(&["setup", "claude"]);
    let starts = read_json(&sandbox, ".claude/settings.json")["hooks"]["SessionStart"].clone();
    assert_eq!(starts.as_array().unwrap().len(), 1, "{starts}");
    sandbox.text(&["setup", "cursor", "--remove"]);
    sandbox.text(&["setup", "claude", "--remove"]);
    assert_eq!(files(&sandbox), before);
}

#[test]
fn files_of_others_are_kept() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let write = |file: &str, text: &str| std::fs::write(sandbox.dir().join(file), text).unwrap();
    write(".mcp.json", "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}, \"zeta\": 1.50}\n");
    write("AGENTS.md", "# Rules\n");
    sandbox.text(&["setup", "claude"]);
    let text = read(&sandbox, ".mcp.json");
    assert!(text.contains("1.50") && text.contains("{\"command\": \"x\"}"), "{text}");
    assert_eq!(
        read_json(&sandbox, ".mcp.json")["mcpServers"]["beads"],
        json!({"command": "bd", "args": ["mcp"]})
    );
    sandbox.text(&["setup", "claude", "--remove"]);
    assert_eq!(read(&sandbox, "AGENTS.md"), "# Rules\n");
    write(".mcp.json", "{ // a comment\n}");
    sandbox.error(&["setup", "claude"], "cannot_edit");
    assert_eq!(read(&sandbox, ".mcp.json"), "{ // a comment\n}");

    // A list that aider has already, a skill and a hook file of another program.
    write(".aider.conf.yml", "read: NOTES.md\n");
    let error = sandbox.error(&["setup", "aider"], "cannot_edit");
    assert!(error["message"].as_str().unwrap().contains("add AGENTS.md to it"), "{error}");
    write(".aider.conf.yml", "read: [NOTES.md, AGENTS.md]\n");
    sandbox.text(&["setup", "aider"]);
    assert_eq!(read(&sandbox, ".aider.conf.yml"), "read: [NOTES.md, AGENTS.md]\n");
    std::fs::create_dir_all(sandbox.dir().join(".agents/skills/beads")).unwrap();
    write(".agents/skills/beads/SKILL.md", "---\nname: necklace\n---\n");
    sandbox.error(&["setup", "codex"], "cannot_edit");
    sandbox.text(&["setup", "zed", "--remove"]);
    assert_eq!(read(&sandbox, ".agents/skills/beads/SKILL.md"), "---\nname: necklace\n---\n");
}

/// A clone may carry links that lead out of it.
#[test]
fn no_link_is_followed_out_of_the_project() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    for (link, client) in
        [(".agents", "codex"), (".claude", "claude"), (".github", "copilot"), (".cursor", "cursor")]
    {
        std::os::unix::fs::symlink(&outside, sandbox.dir().join(link)).unwrap();
        sandbox.error(&["setup", client], "cannot_edit");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "{client}");
    }
}

/// What names paths of this machine is shown for a person to write, and not written.
#[test]
fn a_linked_worktree_shows_what_its_sandbox_has_to_allow() {
    let mut sandbox = Sandbox::new(Mode::Embedded);
    let store = sandbox.json(&["where"])["path"].as_str().unwrap().to_owned();
    assert!(!sandbox.text(&["setup", "claude", "--print"]).contains("allowWrite"));
    assert!(
        sandbox.text(&["setup", "codex", "--print"]).contains(&format!("writable_roots = [\"{store}\"]"))
    );
    let worktree = sandbox.root().join("linked");
    sandbox.repository().worktree("linked", &worktree, None).unwrap();
    sandbox.enter(&worktree);
    for (client, key) in [("claude", "allowWrite"), ("cursor", "additionalReadwritePaths")] {
        let printed = sandbox.text(&["setup", client, "--print"]);
        assert!(printed.contains(key) && printed.contains(&store), "{printed}");
        sandbox.text(&["setup", client]);
        let texts = files(&sandbox).into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
        assert!(texts.into_iter().all(|text| !text.contains(&store)), "no path of this machine is written");
    }
}
