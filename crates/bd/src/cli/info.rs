use beads_core::query::Filter;
use serde_json::Value;

use super::answered;
use super::globals::Globals;
use crate::client;
use crate::daemon::{SocketPath, VERSION};
use crate::failure::Failure;
use crate::place::Place;
use crate::render::{self, InfoAnswer};
use crate::request::{Call, Format, Output, Query, Reply};

/// Tell about this store and who answers for it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd info --json")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let count = ask(globals, &place, Call::query(Query::Count { filter: Filter::default(), by: None }))?;
        let config = ask(globals, &place, Call::ConfigList)?;
        let status = globals.request(&place, Call::DaemonStatus)?;
        let daemon_connected = client::ask_running(&place, &status).is_some();
        let info = InfoAnswer {
            database_path: place.store_dir(),
            git_dir: place.git_dir.clone(),
            mode: if daemon_connected { "daemon" } else { "direct" },
            daemon_connected,
            socket_path: SocketPath::of(&place).path().to_owned(),
            version: VERSION,
            issue_count: count["count"].as_u64().unwrap_or_default(),
            config: serde_json::from_value(config).unwrap_or_default(),
        };
        Ok(answered(match globals.format() {
            Format::Json => render::json(&info),
            _ => text(&info),
        }))
    }
}

/// The answer as a value, or why there is none.
fn ask(globals: &Globals, place: &Place, call: Call) -> Result<Value, Failure> {
    let mut request = globals.request(place, call)?;
    request.output = Output::default();
    let reply = client::ask(place, request, &globals.access());
    match (reply.error, reply.result) {
        (Some(failure), _) => Err(failure),
        (None, Some(value)) => serde_json::from_str(value.get())
            .map_err(|error| Failure::new("invalid_reply", format!("the answer is not JSON: {error}"))),
        (None, None) => Err(Failure::new("invalid_reply", "the answer is empty")),
    }
}

fn text(info: &InfoAnswer) -> String {
    format!(
        "store    {}\nbeads    {}\nmode     {}\nsocket   {}\nversion  {}\n",
        info.database_path.display(),
        info.issue_count,
        info.mode,
        info.socket_path.display(),
        info.version,
    )
}
