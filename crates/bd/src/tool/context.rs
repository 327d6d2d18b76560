use std::path::{Path, PathBuf};

use beads_core::{Actor, Line, Op};
use beads_engine::client::{self, Access};
use beads_engine::daemon::VERSION;
use beads_engine::dialect::Dialect;
use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::request::{Call, Mutate, Output, Reply, Request};
use beads_engine::session_id::SessionId;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call_fields::{CallFields, ClaimOptions};
use super::{Coordination, Outcome, read};
use crate::agent::clock::Clock;
use crate::agent::receipt;
use crate::agent::root::Root;
use crate::agent::store::Store;

/// Where a tool runs, for which actor, and whether it may change anything.
#[derive(Clone)]
pub struct Context<'a> {
    /// Where to look for the store.
    pub directory: PathBuf,
    /// The private store given by `--db`.
    pub db: Option<PathBuf>,
    pub actor: Actor,
    /// The agent's session, if known.
    pub session: Option<SessionId>,
    pub access: Access,
    /// Do not write the automatic export.
    pub no_export: bool,
    /// Do not contact the remote.
    pub offline: bool,
    /// If false, every check runs but nothing is changed.
    pub apply: bool,
    /// Makes a mutation idempotent.
    pub request_id: Option<String>,
    /// Reports progress in percent.
    pub progress: &'a dyn Fn(u8),
    /// Writes a trace line for debugging.
    pub trace: &'a dyn Fn(&str),
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("directory", &self.directory)
            .field("actor", &self.actor)
            .finish_non_exhaustive()
    }
}

impl Context<'_> {
    /// Returns the same context, overridden by the call fields of an input.
    pub(super) fn with_call_fields(&self, fields: &CallFields) -> Result<Self, Failure> {
        let Self { directory, actor, request_id, .. } = self.clone();
        let directory = match &fields.repo {
            None => directory,
            Some(repo) => Some(directory.join(repo)).filter(|path| path.is_dir()).ok_or_else(|| {
                let message = format!("there is no directory {}; nothing was changed", repo.display());
                Failure::missing_path(message, repo, "repo")
            })?,
        };
        Ok(Self {
            directory,
            actor: fields.actor.clone().unwrap_or(actor),
            request_id: fields.idempotency_key.clone().or(request_id),
            ..self.clone()
        })
    }

    /// Names the key in the failure if it was already used for another call.
    pub(super) fn name_reused_key(&self, failure: Failure) -> Failure {
        match &self.request_id {
            Some(key) if failure.code == Code::RequestIdReused => {
                let message = format!("the key {key:?} was used for another call; nothing was changed");
                Failure::new(failure.code, message).with(json!({"field": "idempotency_key"}))
            }
            _ => failure,
        }
    }

    /// Applies an operation, or returns what it would do.
    pub(super) fn mutate(&self, op: Op, options: &ClaimOptions) -> Result<Outcome, Failure> {
        let call = Call::Mutate(Mutate { ops: vec![op], many: false, dry_run: !self.apply });
        let confirm = options.confirm && self.apply;
        let call = if confirm { Call::Confirm { call: Box::new(call) } } else { call };
        Ok(self.ask(call.waiting(options.wait))?.with("applied", self.apply))
    }

    /// Sends a call to the store.
    pub fn ask(&self, call: Call) -> Result<Outcome, Failure> {
        let reply = self.reply(call)?;
        let outcome = Outcome::of(reply.1).with("position", reply.0.position);
        // Claims that ended, so that the worker can stop.
        Ok(match serde_json::to_value(&reply.0.claim_over) {
            Ok(over) if !reply.0.claim_over.is_empty() => outcome.with("claim_over", over),
            _ => outcome,
        })
    }

    fn reply(&self, call: Call) -> Result<(Reply, Box<RawValue>), Failure> {
        let place = Place::from_env(self.db.clone(), &self.directory)?;
        (self.trace)(&format!("store {}", place.store_dir().display()));
        let request = Request {
            client: VERSION.to_owned(),
            actor: self.actor.clone(),
            session: self.session.clone(),
            // The branch is only informational: a name that does not fit on a line is left out.
            branch: place.branch.parse::<Line>().unwrap_or_default(),
            request_id: self.request_id.clone(),
            call,
            no_export: self.no_export,
            offline: self.offline,
            output: Output { dialect: Some(Dialect::Spec), ..Output::default() },
        };
        let mut reply = client::ask(&place, request, &self.access);
        (self.trace)(&format!("position {}, exit {}", reply.position, reply.exit));
        match (reply.error.take(), reply.result.take()) {
            (Some(failure), _) => Err(self.name_reused_key(failure)),
            (None, Some(result)) => Ok((reply, result)),
            (None, None) => Err(Failure::new(Code::InternalError, "the store answered without a result")),
        }
    }

    /// Runs a tool on the agents' store. A tool that only reads writes nothing there, not even when its
    /// caller was last seen.
    pub(super) fn coordinate<T: Coordination>(&self, asked: &Value) -> Result<Outcome, Failure>
    where
        T::Output: serde::Serialize,
    {
        let chosen = std::env::var_os("BB_AGENT_ROOT").filter(|value| !value.is_empty());
        let chosen = chosen.as_deref().map(Path::new);
        let directory =
            self.directory.canonicalize().map_err(|why| Failure::io("find", &self.directory, &why))?;
        let root = Root::find(&directory, chosen, std::env::home_dir().as_deref())?;
        let store = Store::new(root, Clock::from_env()?);
        let input: T = read(asked.clone())?;
        if !T::MUTATES {
            return Outcome::new(&input.act(&store.preview())?);
        }
        let outcome = match &self.request_id {
            _ if !self.apply => Outcome::new(&input.act(&store.preview())?)?,
            None => Outcome::new(&input.act(&store)?)?,
            Some(key) => {
                Outcome::of(receipt::call_once(store, T::NAME, key, asked, |store| input.act(store))?)
            }
        };
        Ok(outcome.with("applied", self.apply))
    }
}
