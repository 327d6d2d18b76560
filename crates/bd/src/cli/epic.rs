use beads_engine::request::{Call, Query};
use clap::Subcommand;

/// See how far epics are, and close those that are done
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd epic status")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Children and closed children of every unfinished epic
    #[command(after_help = "Example:\n  bd epic status --json")]
    Status,
    /// Close every epic whose children are all closed
    #[command(after_help = "Example:\n  bd epic close-eligible --dry-run")]
    CloseEligible {
        /// Show which, and close none
        #[arg(long)]
        dry_run: bool,
    },
}

impl Args {
    pub fn call(self) -> Call {
        match self.verb {
            Verb::Status => Call::query(Query::Epics),
            Verb::CloseEligible { dry_run } => Call::CloseEligibleEpics { dry_run },
        }
    }
}
