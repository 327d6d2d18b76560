use beads_engine::failure::Failure;
use beads_engine::request::{Call, Reply};
use clap::Subcommand;

use super::globals::Globals;
use super::{ask, hook_payload, stdout_reply};

/// List sessions, or end yours
///
/// A session is one run of an agent. Sessions are local to this machine. Yours is --session, else
/// $BD_SESSION, else the one your harness provides ($CLAUDE_CODE_SESSION_ID, $CODEX_THREAD_ID,
/// $GEMINI_SESSION_ID, $ANTIGRAVITY_CONVERSATION_ID).
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd session list\n  bd session end --session 019d1afb\n  bd session end --hook"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// End your session and release its claims
    End {
        /// Read the session from the JSON payload of an end hook on standard input
        #[arg(long)]
        hook: bool,
        /// Keep the claims for your next session, which can take them over immediately
        #[arg(long)]
        keep: bool,
    },
    /// List sessions that hold beads, and how long each has been silent
    List,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        match self.verb {
            Verb::List => ask(globals, Call::Sessions, |_| {}),
            Verb::End { hook, keep } => {
                let named =
                    if hook { hook_payload::session(&hook_payload::read(std::io::stdin()))? } else { None };
                // A hook runs in every repository, including those without a store.
                if hook && !globals.place().is_ok_and(|place| place.store_dir().exists()) {
                    return Ok(stdout_reply(String::new()));
                }
                let call = Call::EndSession { keep, fences: Vec::new() };
                ask(globals, call, |request| request.session = named.or_else(|| request.session.clone()))
            }
        }
    }
}
