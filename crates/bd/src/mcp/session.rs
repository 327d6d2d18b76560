//! One client's connection: which store it works on, as whom, and what it is working on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use beads_core::Actor;
use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_engine::client;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, Query};
use serde_json::Value;

use super::context::Context;
use super::workspace::Workspace;
use crate::tool;

/// A session that reads all day does not grow all day.
const MAX_REMEMBERED: usize = 10_000;

/// What outlives a single request.
#[derive(Debug)]
pub struct Session {
    context: Context,
    pub workspace: Workspace,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The name the client gave in its handshake.
    client: Option<String>,
    /// Everybody this connection has acted for: their leases are renewed while it lasts.
    actors: BTreeSet<Actor>,
    /// The bead claimed last through this connection.
    focus: Option<String>,
    /// The content that was shown of a bead under a revision.
    shown: BTreeMap<(String, u64), String>,
    /// Told when somebody new acts here.
    renewer: Option<Sender<()>>,
}

impl Session {
    pub fn new(context: Context, workspace: Option<&str>) -> Result<Self, Failure> {
        let workspace = Workspace::new(workspace, &context.place)?;
        Ok(Self { context, workspace, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the program of this process was removed: no daemon can be started from here, so nothing is pushed.
    pub fn must_restart(&self) -> bool {
        !self.context.access.no_daemon && beads_engine::daemon::program().is_err()
    }

    /// The client introduced itself.
    pub fn greet(&self, client: Option<String>) {
        self.state().client = client;
    }

    /// Who acts: as the command line or the environment say, else the client by its name, else the user.
    pub fn actor(&self, client: Option<&str>) -> Result<Actor, Failure> {
        let client: Option<String> = client.map(str::to_owned).or_else(|| self.state().client.clone());
        let actor = match (self.context.chosen_actor.clone()?, client) {
            (Some(actor), _) => actor,
            (None, Some(client)) => at_this_host(&client)?,
            (None, None) => self.context.default_actor.clone()?,
        };
        let mut state = self.state();
        if state.actors.insert(actor.clone()) {
            // Without a renewer there is nobody to tell.
            let _ = state.renewer.as_ref().map(|renewer| renewer.send(()));
        }
        drop(state);
        Ok(actor)
    }

    /// Whoever waits at the other end is told of everybody new; `None` lets it go.
    pub fn set_renewer(&self, renewer: Option<Sender<()>>) {
        self.state().renewer = renewer;
    }

    pub fn actors(&self) -> Vec<Actor> {
        self.state().actors.iter().cloned().collect()
    }

    pub fn directory(&self) -> &std::path::Path {
        &self.context.directory
    }

    /// Asks the store.
    pub fn ask(&self, actor: &Actor, call: Call) -> Result<Value, Failure> {
        let request = self.context.request(actor, call);
        let reply = client::ask(&self.context.place, request, &self.context.access);
        if let Some(failure) = reply.error {
            return Err(failure);
        }
        let text = reply.result.as_ref().map_or("null", |result| result.get());
        serde_json::from_str(text)
            .map_err(|error| Failure::new(Code::InternalError, format!("the store's answer: {error}")))
    }

    pub fn query(&self, actor: &Actor, query: Query) -> Result<Value, Failure> {
        self.ask(actor, Call::query(query))
    }

    /// The beads in somebody's hands, the one claimed last first.
    pub fn mine(&self, actor: &Actor) -> Result<Vec<Value>, Failure> {
        let filter = Filter {
            assignee: Some(actor.clone()),
            status: vec![StatusFilter::InProgress],
            sort: Sort { by: SortKey::Updated, reverse: false },
            ..Filter::default()
        };
        let Value::Array(mut beads) = self.query(actor, Query::List(filter))? else { return Ok(Vec::new()) };
        let claimed_at = |bead: &Value| (bead["assignee_at"][0].as_u64(), bead["assignee_at"][1].as_u64());
        beads.sort_by_key(|bead| std::cmp::Reverse(claimed_at(bead)));
        Ok(beads)
    }

    /// Which content a client has seen under a revision.
    pub fn remember(&self, id: &str, revision: u64, content_hash: &str) {
        let mut state = self.state();
        if state.shown.len() >= MAX_REMEMBERED {
            // What was forgotten is compared by its number alone.
            state.shown.clear();
        }
        state.shown.insert((id.to_owned(), revision), content_hash.to_owned());
    }

    pub fn remembered(&self, id: &str, revision: u64) -> Option<String> {
        self.state().shown.get(&(id.to_owned(), revision)).cloned()
    }

    /// Where and for whom a JSON tool runs.
    pub fn tool_context<'a>(&self, actor: &Actor, progress: &'a dyn Fn(u8)) -> tool::Context<'a> {
        self.context.for_tool(actor, progress)
    }

    pub fn set_focus(&self, id: Option<&str>) {
        self.state().focus = id.map(str::to_owned);
    }

    /// What is being worked on: the bead claimed last here if it is still held, else the one claimed last anywhere.
    pub fn focus_among<'a>(&self, mine: &'a [Value]) -> Option<&'a Value> {
        let focus = self.state().focus.clone();
        mine.iter().find(|bead| bead["id"].as_str() == focus.as_deref()).or_else(|| mine.first())
    }

    /// The bead a call is about: the one it names, else the focus.
    pub fn target(&self, actor: &Actor, named: Option<&str>) -> Result<String, Failure> {
        if let Some(id) = named {
            return super::target::id(self, actor, id);
        }
        let mine = self.mine(actor)?;
        let focus = self.focus_among(&mine).and_then(|bead| bead["id"].as_str());
        focus
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(Code::NoFocus, "you hold no bead, and none was named"))
    }
}

/// Clients of one name on two machines are two agents.
fn at_this_host(client: &str) -> Result<Actor, Failure> {
    let name: String = client.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    let uname = rustix::system::uname();
    Ok(format!("{name}@{}", uname.nodename().to_string_lossy()).parse()?)
}
