use serde_json::json;

use super::answered;
use super::globals::Globals;
use crate::failure::Failure;
use crate::render;
use crate::request::{Format, Reply};
use crate::setup::{Client, targets};

/// Tell a coding agent's program about this repository's beads
///
/// Writes into files of the project: the MCP server, a hook that runs `bd prime` when a session starts where the program has such
/// hooks, and a section of AGENTS.md. Running it again changes nothing. What is not ours in these files stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd setup claude\n  bd setup codex --check\n  bd setup cursor --remove")]
pub struct Args {
    #[arg(value_enum)]
    client: Client,
    /// Only tell whether everything is in place; fails if it is not
    #[arg(long, conflicts_with_all = ["remove", "print"])]
    check: bool,
    /// Take out what setup has written
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Write into the files of this project, which is what happens anyway: setup never touches files of the user
    #[arg(long)]
    #[allow(dead_code, reason = "there is no other scope")]
    project: bool,
    /// Only show what belongs into which file
    #[arg(long)]
    print: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let here = globals.directory()?;
        let root = here.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(&here);
        let mut rows = Vec::new();
        let mut shown = String::new();
        for target in targets(self.client, root) {
            let file = target.path.strip_prefix(root).unwrap_or(&target.path).display().to_string();
            let state = match (self.check, self.print) {
                (true, _) if target.is_there()? => "in place",
                (true, _) => "missing",
                (_, true) => {
                    shown.push_str(&format!("# {file}\n{}\n", target.shown()?));
                    "shown"
                }
                _ if !target.write(self.remove)? => "unchanged",
                _ if self.remove => "removed",
                _ => "written",
            };
            rows.push((file, state));
        }
        if rows.iter().any(|(_, state)| *state == "missing") {
            let missing: Vec<_> =
                rows.iter().filter(|row| row.1 == "missing").map(|row| row.0.as_str()).collect();
            let message = format!("not set up: {}", missing.join(", "));
            return Err(Failure::new("not_set_up", message).with(json!({"files": missing})));
        }
        Ok(answered(match globals.format() {
            Format::Json => {
                let rows: Vec<_> =
                    rows.iter().map(|(file, state)| json!({"file": file, "state": state})).collect();
                render::json(&json!({"files": rows, "text": shown}))
            }
            _ if self.print => shown,
            _ => rows.iter().map(|(file, state)| format!("{state} {file}\n")).collect(),
        }))
    }
}
