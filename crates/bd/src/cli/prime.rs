use beads_engine::failure::Failure;
use beads_engine::request::Reply;
use serde_json::json;

use super::globals::Globals;
use super::{answered, text_reply};

/// At most 400 tokens: this is read into the context of every session.
const TEXT: &str = "\
# Work is tracked with bd

Beads are the tasks of this repository; all agents share them. They save and sync themselves.

- `bd claim --next` takes the most urgent bead that can be worked on, for you alone, and tells all about it. Your changes
  and notes renew the claim.
- `bd ready` lists what could be done now, `bd show ID` shows one, `bd claim ID` takes that one.
- `bd note add ID \"…\"` for findings that others need.
- `bd create \"Title\" -t bug -p 1 -d \"…\" --deps discovered-from:ID` for what you come across.
- `bd dep add A B` when A has to wait for B; `bd blocked` shows what waits.
- `bd close ID --reason \"…\"` when it is done; `bd unclaim ID --reason \"…\"` when you stop before that.

Types: bug, feature, task, epic, chore. Priorities: 0 (urgent) to 4 (some day). `--json` works everywhere, and so does
`bd VERB --help`. Nothing asks questions. Long text comes from standard input with `-d -` or from `@/absolute/file`.
";

/// Tell an agent what it needs to know to work with beads
///
/// Says nothing, successfully, where there is no store: it can stand in the start hook of any session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd prime\n  bd prime --hook")]
pub struct Args {
    /// In the JSON that session hooks of Claude Code, Gemini CLI and Codex give to their model
    #[arg(long)]
    hook: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let here = globals.place().is_ok_and(|place| place.exists());
        if self.hook && here {
            // Gemini CLI shows plain text to the user alone.
            let told = json!({"hookEventName": "SessionStart", "additionalContext": TEXT});
            return Ok(answered(format!("{}\n", json!({"hookSpecificOutput": told}))));
        }
        Ok(text_reply(if here { TEXT } else { "" }, globals))
    }
}
