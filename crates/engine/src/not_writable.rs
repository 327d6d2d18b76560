//! The error of a command that cannot write to the store.

use beads_store::Error;
use serde_json::json;

use crate::failure::Failure;
use crate::place::Place;

/// The setting with which each coding agent's sandbox allows writing to a path, by the environment variable
/// that the agent sets for its commands (docs/AGENTS.md).
const SANDBOX_SETTINGS: [(&str, &str); 4] = [
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

/// Returns the error of a command that can neither write to the store nor reach its daemon. It names the path
/// and the setting to change.
pub fn not_writable(place: &Place, error: Error) -> Failure {
    let failure = Failure::from(error);
    let store = place.store_dir();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let by = SANDBOX_SETTINGS.iter().find(|(name, _)| is_set(name));
    let by = by.map_or_else(String::new, |(_, setting)| format!(" ({setting})"));
    let message = format!(
        "{}; nothing was changed. In the sandbox of a coding agent, allow writing to {}{by}, or use the MCP server, which runs \
         outside",
        failure.message,
        store.display()
    );
    Failure { message, ..failure }.with(json!({"allow_write": store}))
}
