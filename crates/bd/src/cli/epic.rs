use beads_engine::request::{Call, Query};
use clap::Subcommand;

/// Show the progress of epics and close finished ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd epic\n  bd epic close-eligible --dry-run")]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List unfinished epics with their closed and total children
    #[command(after_help = "Example:\n  bd epic status --json")]
    Status,
    /// Close every epic whose children are all closed
    #[command(after_help = "Example:\n  bd epic close-eligible --dry-run")]
    CloseEligible {
        /// Show which epics would be closed
        #[arg(long)]
        dry_run: bool,
    },
}

impl Args {
    pub fn call(self) -> Call {
        match self.verb.unwrap_or(Verb::Status) {
            Verb::Status => Call::query(Query::Epics),
            Verb::CloseEligible { dry_run } => Call::CloseEligibleEpics { dry_run },
        }
    }
}
