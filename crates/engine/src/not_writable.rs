use beads_store::Error;
use serde_json::json;

use crate::failure::Failure;
use crate::place::Place;

/// Where harnesses are told what their sandboxes may write, by a variable that they set for the commands they run
/// (docs/AGENTS.md).
const ALLOWANCES: [(&str, &str); 4] = [
    ("CLAUDECODE", "sandbox.filesystem.allowWrite in .claude/settings.local.json"),
    (
        "CODEX_SANDBOX",
        "writable_roots of [sandbox_workspace_write] in Codex's config.toml, which helps on macOS only",
    ),
    (
        "CODEX_THREAD_ID",
        "writable_roots of [sandbox_workspace_write] in Codex's config.toml, which helps on macOS only",
    ),
    ("CURSOR_AGENT", "additionalReadwritePaths in .cursor/sandbox.json"),
];

/// Returns the error of a command that can neither write to the store nor ask its daemon, with what to allow.
pub fn not_writable(place: &Place, error: Error) -> Failure {
    let failure = Failure::from(error);
    let store = place.store_dir();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let by = ALLOWANCES.iter().find(|(name, _)| is_set(name));
    let by = by.map_or_else(String::new, |(_, setting)| format!(" ({setting})"));
    let message = format!(
        "{}; nothing was changed. In the sandbox of a coding agent, allow writing to {}{by}, or use the MCP server, which runs \
         outside",
        failure.message,
        store.display()
    );
    Failure { message, ..failure }.with(json!({"allow_write": store}))
}
