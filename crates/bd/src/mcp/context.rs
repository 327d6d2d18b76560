//! The place and actor of a session, decided once by the front end that starts it.

use std::path::PathBuf;

use beads_core::{Actor, Line};
use beads_engine::client::Access;
use beads_engine::daemon::VERSION;
use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::request::{Call, Output, Request};
use beads_engine::session_id::SessionId;

use crate::tool;

/// Everything a session needs from the command line and the environment.
#[derive(Debug)]
pub struct Context {
    pub place: Place,
    /// The agent's session, if the command line, the environment or the harness name it; else it is this
    /// process.
    pub session: Option<SessionId>,
    /// The directory that relative paths in calls start from.
    pub directory: PathBuf,
    /// The private store given by `--db`.
    pub db: Option<PathBuf>,
    pub access: Access,
    /// Do not write the file at `export.path`.
    pub no_export: bool,
    /// Do not contact the remote.
    pub offline: bool,
    /// The actor given by the command line or the environment. An invalid name fails each call instead of the
    /// session, so that the agent sees the reason.
    pub chosen_actor: Result<Option<Actor>, Failure>,
    /// The actor of a client that does not give its name.
    pub default_actor: Result<Actor, Failure>,
}

impl Context {
    /// Returns a request with this context and the given call.
    pub fn request(&self, actor: &Actor, session: &SessionId, call: Call) -> Request {
        Request {
            client: VERSION.to_owned(),
            actor: actor.clone(),
            session: Some(session.clone()),
            branch: self.place.branch.parse::<Line>().unwrap_or_default(),
            request_id: None,
            no_export: self.no_export,
            offline: self.offline,
            call,
            output: Output::default(),
        }
    }

    /// Returns the context in which a JSON tool runs for `actor`.
    pub fn for_tool<'a>(
        &self,
        actor: &Actor,
        session: &SessionId,
        progress: &'a dyn Fn(u8),
    ) -> tool::Context<'a> {
        tool::Context {
            directory: self.directory.clone(),
            db: self.db.clone(),
            actor: actor.clone(),
            session: Some(session.clone()),
            access: self.access.clone(),
            no_export: self.no_export,
            offline: self.offline,
            apply: true,
            request_id: None,
            progress,
            trace: &|_| {},
        }
    }
}
