//! Asks the daemon, as any other client does.

use std::path::PathBuf;

use beads_core::{Actor, Line};
use beads_engine::client::{self, Access};
use beads_engine::daemon::VERSION;
use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::request::{Call, Output, Query, Request};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The store of one repository, as the board sees it.
#[derive(Debug, Clone)]
pub struct StoreClient {
    pub place: Place,
    /// Who acts through the board.
    pub actor: Actor,
    pub access: Access,
    /// The directory that the board was started in. The mailboxes of agents belong to it.
    pub directory: PathBuf,
    /// Do not contact the remote.
    pub offline: bool,
}

impl StoreClient {
    /// Sends a call and returns the answer as JSON text. Blocks.
    pub fn ask(&self, call: Call, request_id: Option<String>) -> Result<Box<RawValue>, Failure> {
        let request = Request {
            client: VERSION.to_owned(),
            actor: self.actor.clone(),
            session: None,
            branch: self.place.branch.parse::<Line>().unwrap_or_default(),
            request_id,
            no_export: false,
            offline: self.offline,
            call,
            output: Output::default(),
        };
        let reply = client::ask(&self.place, request, &self.access);
        match (reply.result, reply.error) {
            (Some(result), _) => Ok(result),
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(Failure::new(Code::ProtocolError, "the daemon's answer is empty")),
        }
    }

    /// Asks a question and returns the answer as JSON text.
    pub fn query(&self, query: Query) -> Result<Box<RawValue>, Failure> {
        self.ask(Call::query(query), None)
    }

    /// Sends a call and deserialises the answer.
    pub fn value<T: DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        let answer = self.ask(call, None)?;
        serde_json::from_str(answer.get()).map_err(|error| {
            Failure::new(Code::ProtocolError, format!("the daemon's answer is invalid: {error}"))
        })
    }

    /// Returns the name of the repository.
    pub fn name(&self) -> String {
        self.place.name()
    }
}
