use beads_core::query::{Filter, Sort, SortKey};
use beads_core::snapshot::{CONFLICTS, DEPS, FORMAT_VERSION, META, STATE, TOMBSTONES};
use beads_core::{BeadType, EdgeKind, Field, Status};
use beads_engine::client;
use beads_engine::daemon::{SocketPath, VERSION};
use beads_engine::escape::escape;
use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::render::{self, InfoAnswer, StoreSchema};
use beads_engine::request::{Call, Format, Output, Query, Reply};
use serde_json::Value;

use super::globals::Globals;
use super::stdout_reply;

/// The number of sample ids.
const SAMPLE: usize = 5;

/// Show information about the store and its daemon
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd info --json")]
pub struct Args {
    /// Also show the schema: fields, statuses, types and dependency kinds
    #[arg(long)]
    schema: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let count = ask(globals, &place, Call::query(Query::Count { filter: Filter::default(), by: None }))?;
        let config = ask(globals, &place, Call::ConfigList)?;
        let status = globals.request(&place, Call::DaemonStatus)?;
        let daemon_connected = client::ask_running(&place, &status, globals.access().lock_timeout)?.is_some();
        let schema = self.schema.then(|| store_schema(globals, &place)).transpose()?;
        let info = InfoAnswer {
            database_path: place.store_dir(),
            git_dir: place.git_dir.clone(),
            mode: if daemon_connected { "daemon" } else { "direct" },
            daemon_connected,
            socket_path: SocketPath::of(&place).path().to_owned(),
            version: VERSION,
            issue_count: count["count"].as_u64().unwrap_or_default(),
            actor: globals.actor(&place)?,
            person: beads_store::git_user_name(&place.git_dir),
            session: globals.session()?,
            config: serde_json::from_value(config).unwrap_or_default(),
            schema,
        };
        Ok(stdout_reply(match globals.format() {
            Format::Json => render::json(&info),
            _ => text(&info),
        }))
    }
}

fn store_schema(globals: &Globals, place: &Place) -> Result<StoreSchema, Failure> {
    let sort = Sort { by: SortKey::Created, reverse: false };
    let oldest = Filter { sort, limit: Some(SAMPLE), ..Filter::default() };
    let beads = ask(globals, place, Call::query(Query::List(oldest)))?;
    let ids = beads.as_array().into_iter().flatten().filter_map(|bead| bead["id"].as_str());
    Ok(StoreSchema {
        format_version: FORMAT_VERSION,
        files: vec![CONFLICTS, DEPS, META, STATE, TOMBSTONES],
        fields: Field::ALL.iter().map(|field| field.name()).collect(),
        statuses: Status::ALL.map(Status::as_str).to_vec(),
        types: BeadType::ALL.map(BeadType::as_str).to_vec(),
        dependency_kinds: EdgeKind::ALL.map(EdgeKind::as_str).to_vec(),
        sample_ids: ids.map(str::to_owned).collect(),
    })
}

/// Sends a call and returns the answer as a value.
fn ask(globals: &Globals, place: &Place, call: Call) -> Result<Value, Failure> {
    let mut request = globals.request(place, call)?;
    request.output = Output::default();
    let reply = client::ask(place, request, &globals.access());
    match (reply.error, reply.result) {
        (Some(failure), _) => Err(failure),
        (None, Some(value)) => serde_json::from_str(value.get())
            .map_err(|error| Failure::new(Code::InvalidReply, format!("the answer is not JSON: {error}"))),
        (None, None) => Err(Failure::new(Code::InvalidReply, "the answer is empty")),
    }
}

fn text(info: &InfoAnswer) -> String {
    format!(
        "actor    {}\nstore    {}\nbeads    {}\nmode     {}\nsocket   {}\nversion  {}\n",
        describe_actor(info),
        info.database_path.display(),
        info.issue_count,
        info.mode,
        info.socket_path.display(),
        info.version,
    ) + &info.schema.as_ref().map(schema_text).unwrap_or_default()
}

/// Describes the actor, with the person behind it and the session if they are known.
fn describe_actor(info: &InfoAnswer) -> String {
    let person = info.person.as_ref().map(|person| format!(" ({})", escape(person))).unwrap_or_default();
    let session = info.session.as_ref().map(|session| format!(", session {}", escape(session.as_str())));
    format!("{}{person}{}", escape(info.actor.as_str()), session.unwrap_or_default())
}

fn schema_text(schema: &StoreSchema) -> String {
    format!(
        "format   {}\nfields   {}\nstatuses {}\ntypes    {}\nkinds    {}\n",
        schema.format_version,
        schema.fields.join(" "),
        schema.statuses.join(" "),
        schema.types.join(" "),
        schema.dependency_kinds.join(" "),
    )
}
