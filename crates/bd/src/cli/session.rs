use beads_engine::failure::Failure;
use beads_engine::request::{Call, Reply};
use clap::Subcommand;

use super::globals::Globals;
use super::{answered, ask, hook_payload};

/// Sessions: the runs of agents behind claims, known on this machine only
///
/// Which session you are is --session, else $BD_SESSION, else what your harness provides ($CLAUDE_CODE_SESSION_ID,
/// $CODEX_THREAD_ID, $GEMINI_SESSION_ID).
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
    /// Give back what your session holds, because it ended
    End {
        /// Read the session from the JSON that a harness writes to the standard input of its end hook
        #[arg(long)]
        hook: bool,
        /// Leave the claims to your next session, which takes them over without waiting
        #[arg(long)]
        keep: bool,
    },
    /// List the sessions that hold beads, and since when each is silent
    List,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        match self.verb {
            Verb::List => ask(globals, Call::Sessions, |_| {}),
            Verb::End { hook, keep } => {
                let named =
                    if hook { hook_payload::session(&hook_payload::read(std::io::stdin()))? } else { None };
                // A hook runs in every repository, also where nothing was ever tracked.
                if hook && !globals.place().is_ok_and(|place| place.store_dir().exists()) {
                    return Ok(answered(String::new()));
                }
                let call = Call::EndSession { keep, fences: Vec::new() };
                ask(globals, call, |request| request.session = named.or_else(|| request.session.clone()))
            }
        }
    }
}
