use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::request::Reply;
use serde_json::json;

use super::globals::Globals;
use super::situation::Situation;
use super::{answered, text_reply};

/// With the situation at most 400 tokens: this is read into the context of every session.
const TITLE: &str = "# Work is tracked with bd\n\n";

const TEXT: &str = "\
Beads are the tasks of this repository, shared by all agents. They save and sync themselves.

- `bd claim --next` takes the most urgent ready bead for you alone and shows it; `bd claim ID` takes that one. Your changes renew
  the claim.
- `bd ready` lists what could be done now, `bd show ID` shows one.
- `bd note add ID \"…\"` for findings others need, `bd remember \"…\" --key K` for what later sessions need.
- `bd create \"Title\" -t bug -p 1 -d \"…\" --deps discovered-from:ID` for what you come across; `bd dep add A B` when A waits for B.
- `bd close ID --reason \"…\"` when it is done; `bd unclaim ID --reason \"…\"` when you stop before that.

Types: bug, feature, task, epic, chore. Priorities: 0 (urgent) to 4. `--json` and `--help` work everywhere; nothing asks
questions. Long text: `-d -` or `-d @/absolute/file`.
";

/// Tell an agent what it needs to know to work with beads
///
/// Says who you are, what you hold and until when, how much is ready, and what is remembered. Says nothing, successfully, where
/// there is no store: it can stand in the start hook of any session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd prime\n  bd prime --hook")]
pub struct Args {
    /// In the JSON that session hooks of Claude Code, Gemini CLI and Codex give to their model
    #[arg(long)]
    hook: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let Some(place) = globals.place().ok().filter(Place::exists) else {
            return Ok(text_reply("", globals));
        };
        // An agent that cannot be told where it stands is told how to work.
        let situation = Situation::of(globals, &place).map(|situation| situation.text()).unwrap_or_default();
        let text = match situation.is_empty() {
            true => format!("{TITLE}{TEXT}"),
            false => format!("{TITLE}{situation}\n{TEXT}"),
        };
        if self.hook {
            // Gemini CLI shows plain text to the user alone.
            let told = json!({"hookEventName": "SessionStart", "additionalContext": text});
            return Ok(answered(format!("{}\n", json!({"hookSpecificOutput": told}))));
        }
        Ok(text_reply(&text, globals))
    }
}
