//! `bd setup`: configures coding agents to use beads, in project files. Everything it writes can be
//! recognised and removed again; the rest of a file is preserved byte for byte.

mod client;
mod edit;
mod hooks;
mod json_file;
mod section;
mod target;

use std::path::Path;

use beads_engine::failure::Failure;
use serde_json::json;

pub use client::Client;
use edit::{Edit, HASH, MARKDOWN};
pub use target::{Target, Written};

/// The section of AGENTS.md.
const GUIDE: &str = "\
## Tasks

Work in this repository is tracked as beads, shared by all agents. Run `bd prime` for the commands, or use the `beads` MCP
server: `next` claims a task and gives its brief, `note` records findings, `done` closes it. Claim before you start. Beads save
automatically, and sync automatically once the store is published (`bd sync`). Subagents pass their own name as `agent`.
";

/// The workflow, for agents that load skills.
const SKILL: &str = include_str!("SKILL.md");

/// The plugin that gives opencode its hooks.
const OPENCODE_PLUGIN: &str = include_str!("opencode.js");

const CODEX_SERVER: &str = "\
[mcp_servers.beads]
command = \"bd\"
args = [\"mcp\"]
";

const AGENTS_SKILL: &str = ".agents/skills/beads/SKILL.md";

/// Returns the project files of a client. The last one is AGENTS.md, which names every configured client.
pub fn targets(client: Client, root: &Path) -> Vec<Target> {
    if client == Client::Clients {
        // These have settings of the store instead of project files.
        return Vec::new();
    }
    let target = |path: &str, edits: Vec<Edit>| Target::new(root, path, edits);
    let server = |key: &'static str| Edit::Entry {
        path: vec![key, "beads"],
        value: json!({"command": "bd", "args": ["mcp"]}),
    };
    let skill =
        |path: &str| target(path, vec![Edit::Whole { text: SKILL.to_owned(), ours_if: "\nname: beads\n" }]);
    let with_hooks = |mut edits: Vec<Edit>| {
        edits.extend(hooks::entries(client));
        edits
    };
    let mut targets = match client {
        Client::Claude => vec![
            target(".mcp.json", vec![server("mcpServers")]),
            target(".claude/settings.json", with_hooks(Vec::new())),
            skill(".claude/skills/beads/SKILL.md"),
        ],
        Client::Codex => vec![
            target(".codex/config.toml", vec![Edit::Section { marks: HASH, text: CODEX_SERVER }]),
            target(".codex/hooks.json", with_hooks(Vec::new())),
            skill(AGENTS_SKILL),
        ],
        Client::Cursor => vec![
            target(".cursor/mcp.json", vec![server("mcpServers")]),
            target(".cursor/hooks.json", with_hooks(Vec::new())),
            skill(AGENTS_SKILL),
        ],
        Client::Gemini => {
            vec![target(".gemini/settings.json", with_hooks(vec![server("mcpServers")])), skill(AGENTS_SKILL)]
        }
        Client::Antigravity => vec![
            target(".agents/mcp_config.json", vec![server("mcpServers")]),
            target(".agents/hooks.json", with_hooks(Vec::new())),
            skill(AGENTS_SKILL),
        ],
        Client::Copilot => vec![
            target(".mcp.json", vec![server("mcpServers")]),
            target(
                ".github/hooks/beads.json",
                vec![Edit::Whole { text: hooks::copilot(), ours_if: "\"bd prime --hook" }],
            ),
            skill(AGENTS_SKILL),
        ],
        Client::Opencode => {
            let value = json!({"type": "local", "command": ["bd", "mcp"], "enabled": true});
            let server = Edit::Entry { path: vec!["mcp", "beads"], value };
            let plugin =
                Edit::Whole { text: OPENCODE_PLUGIN.to_owned(), ours_if: "// Written by bd setup opencode." };
            vec![
                target("opencode.json", vec![server]),
                target(".opencode/plugins/beads.js", vec![plugin]),
                skill(AGENTS_SKILL),
            ]
        }
        Client::Zed => {
            vec![target(".zed/settings.json", vec![server("context_servers")]), skill(AGENTS_SKILL)]
        }
        Client::Aider => vec![target(".aider.conf.yml", vec![Edit::AiderRead])],
        Client::Windsurf => vec![skill(".windsurf/skills/beads/SKILL.md")],
        Client::Generic | Client::Clients => Vec::new(),
    };
    targets.push(target("AGENTS.md", vec![Edit::Guide { text: GUIDE }]));
    targets
}

/// Returns what the user must add by hand, because it belongs in user files or names paths of this machine:
/// the server if it cannot be configured per project, and the store's directory if a sandbox prevents `bd`
/// from writing to it.
pub fn manual_steps(client: Client, store: Option<&Path>, is_linked_worktree: bool) -> Option<String> {
    let paths = json!([store.map(Path::to_string_lossy).unwrap_or_default()]);
    match client {
        Client::Windsurf => {
            let server = json!({"mcpServers": {"beads": {"command": "bd", "args": ["mcp"]}}});
            Some(format!("# by hand: ~/.codeium/windsurf/mcp_config.json\n{server:#}\n"))
        }
        Client::Claude if is_linked_worktree => {
            let allow = json!({"sandbox": {"filesystem": {"allowWrite": paths}}});
            Some(format!("# by hand, for its sandbox: .claude/settings.local.json\n{allow:#}\n"))
        }
        Client::Cursor if is_linked_worktree => {
            let allow = json!({"additionalReadwritePaths": paths});
            Some(format!("# by hand, for its sandbox: .cursor/sandbox.json\n{allow:#}\n"))
        }
        Client::Codex if store.is_some() => Some(format!(
            "# by hand, for its sandbox on macOS: ~/.codex/config.toml\n[sandbox_workspace_write]\nwritable_roots = {paths}\n"
        )),
        _ => None,
    }
}

/// Returns the clients that are configured in a project, as listed in AGENTS.md. A section of an earlier
/// version lists none; then a client counts if something of ours is in a file that no other client uses.
pub fn configured_clients(root: &Path) -> Result<Vec<Client>, Failure> {
    let guide = Target::new(root, "AGENTS.md", Vec::new()).read()?.unwrap_or_default();
    let Some(remark) = MARKDOWN.remark(&guide) else { return Ok(Vec::new()) };
    let named: Vec<&str> = remark.split_whitespace().collect();
    let mut found = Vec::new();
    for client in Client::ALL {
        let is_configured = match named.as_slice() {
            [] => has_own_file(client, root)?,
            named => named.contains(&client.name()),
        };
        found.extend(is_configured.then_some(client));
    }
    Ok(found)
}

fn has_own_file(client: Client, root: &Path) -> Result<bool, Failure> {
    let others = |path: &Path| {
        let mut others = Client::ALL.into_iter().filter(|other| *other != client);
        others.any(|other| targets(other, root).iter().any(|target| target.path == path))
    };
    for target in targets(client, root) {
        if !others(&target.path) && target.has_our_parts()? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;
    use tiktoken_rs::o200k_base_singleton;

    use super::*;

    /// The Claude Code plugin contains what `bd setup claude` writes, in the places where a plugin needs it.
    #[test]
    fn the_plugin_matches_what_setup_writes() {
        let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/claude-code");
        let read = |path: &str| std::fs::read_to_string(plugin.join(path)).unwrap();
        let json = |path: &str| serde_json::from_str::<Value>(&read(path)).unwrap();
        assert_eq!(read("skills/beads/SKILL.md"), SKILL);
        assert_eq!(json("hooks/hooks.json"), hooks::claude_plugin());
        assert_eq!(json(".mcp.json"), json!({"mcpServers": {"beads": {"command": "bd", "args": ["mcp"]}}}));
        let manifest = json(".claude-plugin/plugin.json");
        assert_eq!(
            (&manifest["name"], &manifest["version"]),
            (&json!("beads"), &json!(env!("CARGO_PKG_VERSION")))
        );
        let market = json("../../.claude-plugin/marketplace.json");
        assert_eq!(market["plugins"][0]["source"], "./integrations/claude-code");
    }

    #[test]
    fn the_skill_is_short_and_well_formed() {
        let tokens = o200k_base_singleton().encode_ordinary(SKILL).len();
        assert!(tokens < 600, "{tokens} tokens");
        let (head, _) = SKILL.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        assert!(head.starts_with("name: beads\ndescription: ") && head.lines().count() == 2, "{head}");
        assert!(head.lines().nth(1).unwrap().len() < 1_024, "the longest description that programs take");
    }
}
