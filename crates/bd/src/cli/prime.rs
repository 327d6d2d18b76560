use beads_engine::failure::Failure;
use beads_engine::request::Reply;

use super::globals::Globals;
use super::place::{has_store, may_fetch_store};
use super::situation::Situation;
use super::{stdout_reply, text_reply};
use crate::hook::{HookClient, Payload};

/// Together with the situation at most 400 tokens, because every session reads this into its context.
const TITLE: &str = "# Work is tracked with bd\n\n";

const TEXT: &str = "\
Beads are the tasks of this repository, shared by all agents. They save automatically, and sync automatically once the store is published (`bd sync`).

- `bd claim --next` claims the most urgent ready bead for you and shows it; `bd claim ID` claims that one. Your changes renew
  the claim.
- `bd ready` lists beads to work on now, `bd show ID` shows one.
- `bd note add ID \"…\"` for findings others need, `bd remember \"…\" --key K` for what later sessions need.
- `bd create \"Title\" -t bug -p 1 -d \"…\" --deps discovered-from:ID` for work you discover; `bd dep add A B` if A depends on B.
- `bd close ID --reason \"…\"` when it is done; `bd unclaim ID --reason \"…\"` if you stop before that.

Types: bug, feature, task, epic, chore. Priorities: 0 (urgent) to 4. `--json` and `--help` work everywhere; no command
prompts. Long text: `-d -` or `-d @/absolute/file`.
";

/// Print instructions for an agent, with its current situation
///
/// Shows who you are, what you hold and until when, how many beads are ready, and the keys of memories.
/// Prints nothing and succeeds if there is no store, so it can be in the start hook of any session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd prime\n  bd prime --hook\n  bd prime --hook=cursor")]
pub struct Args {
    /// Read the payload of a start hook from standard input and answer in the JSON of that coding agent
    /// [default: claude, also for Codex and Gemini CLI]
    #[arg(long, value_name = "PROGRAM", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "claude")]
    hook: Option<HookClient>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let payload = self.hook.map(|_| Payload::read()).unwrap_or_default();
        let globals = &globals.with_session(payload.session());
        let found = globals.place().ok().filter(|place| has_store(place) || may_fetch_store(place));
        let Some(place) = found else { return Ok(text_reply("", globals)) };
        if !payload.is_first_call() {
            return Ok(stdout_reply("{}\n".to_owned()));
        }
        // If the situation is unavailable, print only the instructions. Without a store here, a query would create its
        // files.
        let situation = has_store(&place).then(|| Situation::of(globals, &place).ok()).flatten();
        let situation = situation.map(|situation| situation.text()).unwrap_or_default();
        let text = match situation.is_empty() {
            true => format!("{TITLE}{TEXT}"),
            false => format!("{TITLE}{situation}\n{TEXT}"),
        };
        // A hook must answer in JSON: Gemini CLI would show plain text only to the user.
        Ok(match self.hook {
            Some(client) => stdout_reply(format!("{}\n", client.context("SessionStart", &text))),
            None => text_reply(&text, globals),
        })
    }
}
