use beads_engine::request::Call;

/// Report that your session is alive, and renew its claims
///
/// Every command of a session counts as a heartbeat. This command does nothing else; it renews leases that
/// are more than a third over. A bead whose session has been silent for a minute is shown as such, and others
/// may take it over.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd heartbeat\n  bd heartbeat --session $CLAUDE_CODE_SESSION_ID")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Heartbeat
    }
}
