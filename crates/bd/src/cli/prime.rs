use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::request::Reply;

use super::globals::Globals;
use super::situation::Situation;
use super::{answered, text_reply};
use crate::hook::{HookClient, Payload};

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
#[command(after_help = "Examples:\n  bd prime\n  bd prime --hook\n  bd prime --hook=cursor")]
pub struct Args {
    /// Read the payload of a start hook from standard input, and answer in the JSON that its program gives to the model: that of
    /// Claude Code, Codex and Gemini CLI unless another is named
    #[arg(long, value_name = "PROGRAM", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "claude")]
    hook: Option<HookClient>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let session = self.hook.and_then(|_| Payload::read().session());
        let globals = &globals.with_session(session);
        let Some(place) = globals.place().ok().filter(Place::exists) else {
            return Ok(text_reply("", globals));
        };
        // Without the agent's situation, the text only explains how to work with bd.
        let situation = Situation::of(globals, &place).map(|situation| situation.text()).unwrap_or_default();
        let text = match situation.is_empty() {
            true => format!("{TITLE}{TEXT}"),
            false => format!("{TITLE}{situation}\n{TEXT}"),
        };
        // Gemini CLI shows plain text to the user alone.
        Ok(match self.hook {
            Some(client) => answered(format!("{}\n", client.context("SessionStart", &text))),
            None => text_reply(&text, globals),
        })
    }
}
