use beads_engine::failure::{Code, Failure};
use beads_engine::render;
use beads_engine::request::{Call, Format, Reply};
use serde_json::{Value, json};

use super::globals::Globals;
use super::{answered, ask_at, text_reply};
use crate::setup::{Client, targets};

/// Tell a coding agent's program about this repository's beads
///
/// Writes into files of the project: the MCP server, a hook that runs `bd prime` when a session starts where the program has such
/// hooks, and a section of AGENTS.md. Running it again changes nothing. What is not ours in these files stays as it is.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd setup claude\n  bd setup clients\n  bd setup codex --check\n  bd setup cursor --remove"
)]
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
        if self.client == Client::Clients {
            return self.clients(globals);
        }
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
            return Err(Failure::new(Code::NotSetUp, message).with(json!({"files": missing})));
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

    /// Programs written for the Go `bd` need settings of this clone instead of files of the project.
    fn clients(&self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        if self.print {
            let text = "json.dialect = compat\nexport.path = .beads/issues.jsonl\n# .beads/metadata.json\n";
            return Ok(text_reply(text, globals));
        }
        if self.remove {
            for key in ["json.dialect", "export.path"] {
                let _: Value = globals.value(&place, Call::ConfigUnset { key: key.to_owned() })?;
            }
            return Ok(text_reply("removed json.dialect and export.path\n", globals));
        }
        if self.check {
            let settings: Value = globals.value(&place, Call::ConfigList)?;
            let missing: Vec<_> = [("json.dialect", "compat"), ("export.path", ".beads/issues.jsonl")]
                .into_iter()
                .filter(|(key, value)| settings[key] != *value)
                .map(|(key, _)| key)
                .collect();
            if missing.is_empty() {
                return Ok(text_reply("in place json.dialect\nin place export.path\n", globals));
            }
            let message = format!("not set up: {}", missing.join(", "));
            return Err(Failure::new(Code::NotSetUp, message).with(json!({"settings": missing})));
        }
        ask_at(&place, globals, Call::Init { prefix: None, compat: true, private: false }, |_| ())
    }
}
