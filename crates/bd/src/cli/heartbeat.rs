use beads_engine::request::Call;

/// Say that your session is alive, and keep what it holds
///
/// Any command of a session counts as a sign of life. This one does nothing else: leases of which a third is over run anew. A
/// bead whose session was silent for a minute is shown so, and others may take it over.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd heartbeat\n  bd heartbeat --session $CLAUDE_CODE_SESSION_ID")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Heartbeat
    }
}
