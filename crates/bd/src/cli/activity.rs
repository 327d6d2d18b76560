use beads_core::{EventKind, Timestamp};
use beads_engine::request::{ActivityQuery, Call, Query};

use super::filter::past_time;
use super::globals::Globals;

/// Show the log of the whole store, newest last
///
/// The log has the changes made on this machine and those that arrived from others. It keeps tens of
/// thousands of events; `bd log ID` shows the full history of one bead. With --actor NAME, only the changes
/// of that actor are listed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd activity --since 2h\n  bd activity --actor bob --kind closed,note --json"
)]
pub struct Args {
    /// Only changes of this bead
    #[arg(long, short = 'b', value_name = "ID")]
    bead: Option<String>,
    /// Only these kinds, such as created, claimed, closed, note or sync_failed; comma-separated
    #[arg(long, short = 'k', value_name = "KIND,…", value_delimiter = ',', value_parser = kind)]
    kind: Vec<EventKind>,
    /// Only since TIME: an age such as 8h, today, yesterday, a date, a local date-time or RFC 3339
    #[arg(long, short = 's', value_name = "TIME", value_parser = past_time)]
    since: Option<Timestamp>,
    /// Show at most the newest N; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
}

impl Args {
    pub fn call(self, globals: &Globals) -> Call {
        Call::query(Query::Activity(ActivityQuery {
            actor: globals.given_actor().cloned(),
            bead: self.bead,
            kinds: self.kind,
            since: self.since,
            limit: (self.limit > 0).then_some(self.limit),
        }))
    }
}

/// Parses the name of a kind of event as in JSON.
fn kind(text: &str) -> Result<EventKind, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}
