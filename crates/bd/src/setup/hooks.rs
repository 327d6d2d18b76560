//! The hooks of each coding agent, in its format. The sources are in docs/AGENTS.md.

use serde_json::{Value, json};

use super::Client;
use super::edit::Edit;

/// The timeout of a hook, in seconds.
const TIMEOUT_S: u32 = 10;

/// Returns the entries of a client's hook file.
pub fn entries(client: Client) -> Vec<Edit> {
    match client {
        Client::Claude => grouped(&CLAUDE, TIMEOUT_S),
        Client::Codex => grouped(&CODEX, TIMEOUT_S),
        // Its timeouts are in milliseconds.
        Client::Gemini => grouped(&GEMINI, TIMEOUT_S * 1_000),
        Client::Cursor => cursor(),
        Client::Antigravity => antigravity(),
        _ => Vec::new(),
    }
}

type Events = [(&'static str, &'static str)];

/// `exec` replaces the shell, so that the agent is the parent process of the hook, as it is of its MCP
/// server. `bd hook` finds the MCP server of the session by that parent.
const CLAUDE: [(&str, &str); 5] = [
    ("SessionStart", "bd prime --hook"),
    ("Stop", "exec bd hook stop"),
    ("SessionEnd", "exec bd hook end"),
    ("SubagentStart", "bd hook subagent-start"),
    ("SubagentStop", "bd hook subagent-stop"),
];

/// Codex has no end hook; the claims are released when its MCP server exits.
const CODEX: [(&str, &str); 4] = [
    ("SessionStart", "bd prime --hook"),
    ("Stop", "bd hook stop --client codex"),
    ("SubagentStart", "bd hook subagent-start --client codex"),
    ("SubagentStop", "bd hook subagent-stop --client codex"),
];

const GEMINI: [(&str, &str); 3] = [
    ("SessionStart", "bd prime --hook"),
    ("AfterAgent", "exec bd hook stop --client gemini"),
    ("SessionEnd", "exec bd hook end --client gemini"),
];

/// Returns groups of hooks by event, the format of Claude Code that others adopted.
fn grouped(events: &Events, timeout: u32) -> Vec<Edit> {
    let entry = |(event, command): &(&'static str, &'static str)| {
        let hook = json!({"type": "command", "command": command, "timeout": timeout});
        Edit::Element { path: vec!["hooks", event], value: json!({"hooks": [hook]}) }
    };
    events.iter().map(entry).collect()
}

fn cursor() -> Vec<Edit> {
    let element = |event, value| Edit::Element { path: vec!["hooks", event], value };
    let hook = |command: &str| json!({"command": command, "timeout": TIMEOUT_S});
    let mut stop = hook("bd hook stop --client cursor");
    stop["loop_limit"] = json!(1);
    vec![
        Edit::Default { path: vec!["version"], value: json!(1) },
        element("sessionStart", hook("bd prime --hook=cursor")),
        element("stop", stop),
        element("sessionEnd", hook("bd hook end --client cursor")),
    ]
}

/// Returns our named group of hooks. Antigravity has no hook for the start or the end of a session; it runs
/// `PreInvocation` before each call of the model.
fn antigravity() -> Vec<Edit> {
    let hook = |command: &str| json!([{"type": "command", "command": command, "timeout": TIMEOUT_S}]);
    let value = json!({
        "PreInvocation": hook("bd prime --hook=antigravity"),
        "Stop": hook("bd hook stop --client antigravity"),
    });
    vec![Edit::Entry { path: vec!["beads"], value }]
}

/// Returns the hook file of Copilot, which is entirely ours. Events in the spelling of VS Code have the same
/// payloads as those of other agents.
pub fn copilot() -> String {
    let hook = |command: &str| json!([{"type": "command", "bash": command, "timeoutSec": TIMEOUT_S}]);
    let hooks = json!({
        "SessionStart": hook("bd prime --hook=copilot"),
        "Stop": hook("exec bd hook stop --client copilot"),
        "SessionEnd": hook("exec bd hook end --client copilot"),
    });
    pretty(&json!({"version": 1, "hooks": hooks}))
}

/// Returns the hook file of the Claude Code plugin.
#[cfg(test)]
pub fn claude_plugin() -> Value {
    let mut hooks = serde_json::Map::new();
    for edit in entries(Client::Claude) {
        if let Edit::Element { path, value } = edit {
            hooks.insert(path[1].to_owned(), json!([value]));
        }
    }
    json!({"description": "Tells the agent about its beads, and releases them when the session ends", "hooks": hooks})
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Returns whether a hook entry runs only our commands.
pub fn is_ours(element: &Value) -> bool {
    let command =
        |hook: &Value| ["command", "bash"].iter().find_map(|name| hook[name].as_str().map(str::to_owned));
    let ours = |hook: &Value| {
        let command = command(hook).unwrap_or_default();
        let command = command.strip_prefix("exec ").unwrap_or(&command);
        command.starts_with("bd prime") || command.starts_with("bd hook ")
    };
    match element["hooks"].as_array() {
        Some(hooks) => !hooks.is_empty() && hooks.iter().all(ours),
        None => ours(element),
    }
}
