use beads_engine::failure::Failure;
use beads_engine::render::{Answer, HubAnswer, HubStatusAnswer};
use beads_engine::request::{Call, Reply};
use beads_store::hub::HUB_VERSION;
use beads_store::hub::postgres::{Address, install, install_sql, store_fence, store_status};
use clap::Subcommand;
use serde_json::Value;

use super::globals::Globals;
use super::stdout_reply;

/// Set up or inspect the hub, which connects many machines
///
/// With a hub, changes reach every machine at once and claims are exclusive in one round trip. An
/// administrator runs `bd hub init` once; each machine then sets hub.url, or $BD_HUB_URL for its daemon.
/// Passwords come from ~/.pgpass, PGSERVICE or PGPASSWORD and are never stored.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd hub init postgres://admin@db.example/beads\n  bd hub status --json")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create the schema beads, its functions, and the role beads_member that may only call them
    #[command(after_help = "Examples:\n  bd hub init postgres://admin@db.example/beads\n  \
                            bd hub init --print-sql > hub.sql")]
    Init {
        /// Address of the database
        #[arg(required_unless_present = "print_sql")]
        url: Option<String>,
        /// Print the SQL for an administrator instead of running it
        #[arg(long)]
        print_sql: bool,
    },
    /// Bring the schema and functions up to the version of this program
    ///
    /// Everything that the hub holds is kept. Machines with an older bd are refused from then on and keep their
    /// changes, until bd is upgraded there, too.
    #[command(after_help = "Example:\n  bd hub upgrade postgres://admin@db.example/beads")]
    Upgrade {
        /// Address of the database, for a role that may change the schema
        url: String,
    },
    /// Show whether the hub answers, what this machine lacks, and what the hub holds
    #[command(after_help = "Example:\n  bd hub status --json")]
    Status,
    /// Hold grants until all machines have attached again, after a restore of the database
    ///
    /// A promoted standby is noticed without this command. After a restore from a backup that keeps the
    /// timeline it has to be run once.
    #[command(after_help = "Example:\n  bd hub fence")]
    Fence,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        match self.verb {
            Verb::Init { print_sql: true, .. } => Ok(stdout_reply(install_sql())),
            Verb::Init { url, .. } => set_up(globals, &url.unwrap_or_default(), "installed"),
            Verb::Upgrade { url } => set_up(globals, &url, "upgraded"),
            Verb::Status => status(globals),
            Verb::Fence => fence(globals),
        }
    }
}

fn set_up(globals: &Globals, url: &str, done: &'static str) -> Result<Reply, Failure> {
    Address::refuse_password(url)?;
    let address = Address::parse(url)?;
    install(&address)?;
    globals.answer(Answer::Hub(HubAnswer {
        url: address.shown(),
        done,
        hub_version: HUB_VERSION,
        epoch: None,
    }))
}

fn status(globals: &Globals) -> Result<Reply, Failure> {
    let (mut status, address) = known(globals)?;
    if let Some(address) = address {
        match store_status(&address, status.store.as_deref().unwrap_or_default()) {
            Ok((hub, latency_ms)) => add(&mut status, &hub, latency_ms),
            Err(error) => {
                status.error_code = Some(error.code());
                status.error = Some(error.to_string());
            }
        }
    }
    globals.answer(Answer::HubStatus(Box::new(status)))
}

fn fence(globals: &Globals) -> Result<Reply, Failure> {
    let (status, address) = known(globals)?;
    let address = address.ok_or_else(|| {
        Failure::invalid("no hub is configured; bd config set hub.url sets one. Nothing was changed")
    })?;
    let epoch = Some(store_fence(&address, status.store.as_deref().unwrap_or_default())?);
    let url = address.shown();
    globals.answer(Answer::Hub(HubAnswer { url, done: "fenced", hub_version: HUB_VERSION, epoch }))
}

/// Returns what this machine knows, and the address of the hub. The address comes from the environment of
/// this command or the settings, because the daemon does not reveal one that may hold a password.
fn known(globals: &Globals) -> Result<(HubStatusAnswer, Option<Address>), Failure> {
    let place = globals.place()?;
    let mut status: HubStatusAnswer = globals.value(&place, Call::HubStatus)?;
    let variable = std::env::var("BD_HUB_URL").ok().filter(|url| !url.is_empty());
    let url = match variable {
        Some(url) => url,
        None => {
            let setting: Value = globals.value(&place, Call::ConfigGet { key: "hub.url".to_owned() })?;
            setting["value"].as_str().unwrap_or_default().to_owned()
        }
    };
    if url.is_empty() {
        return Ok((status, None));
    }
    let address = Address::parse(&url)?;
    status.url = Some(address.shown());
    Ok((status, Some(address)))
}

/// Adds what the hub answered.
fn add(status: &mut HubStatusAnswer, hub: &Value, latency_ms: f64) {
    let number = |name: &str| hub[name].as_u64();
    status.reachable = true;
    status.latency_ms = Some(latency_ms);
    status.lag = number("head").zip(status.cursor).map(|(head, cursor)| head.saturating_sub(cursor));
    status.hub_version = number("hub_version");
    status.machines = number("machines");
    status.active_machines = number("active_machines");
    status.claims = number("claims");
    status.deltas = number("deltas");
    status.table_bytes = number("table_bytes");
    status.epoch = number("epoch");
    status.holding = hub["holding"] == true;
    status.awaited_machines = number("awaited_machines");
    status.hold_ms = number("hold_ms");
    status.synchronous_standby = hub["synchronous_standby"].as_bool();
}
