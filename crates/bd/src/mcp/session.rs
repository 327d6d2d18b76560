//! One client's connection: which store it works on, as whom, and what it is working on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_core::op::{Guard, Unclaim};
use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_core::{Actor, Op};
use beads_engine::client::{self, Access};
use beads_engine::failure::{Code, Failure};
use beads_engine::hangup::Hangup;
use beads_engine::request::{Call, ClaimOver, Query, Request};
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
    /// The bead that each of them claimed last through this connection.
    focus: BTreeMap<Actor, String>,
    /// Claims that ended without their holder's doing, not yet reported.
    over: Vec<(Actor, ClaimOver)>,
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

    /// Whether a daemon answers, which can wait for something to happen.
    pub fn has_daemon(&self) -> bool {
        !self.context.access.no_daemon
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
        self.acts(&actor);
        Ok(actor)
    }

    /// A subagent that shares this connection: its claims are its own.
    pub fn subagent(&self, actor: &Actor, agent: &str) -> Result<Actor, Failure> {
        let actor = format!("{actor}/{agent}").parse()?;
        self.acts(&actor);
        Ok(actor)
    }

    fn acts(&self, actor: &Actor) {
        let mut state = self.state();
        if state.actors.insert(actor.clone()) {
            // Without a renewer there is nobody to tell.
            let _ = state.renewer.as_ref().map(|renewer| renewer.send(()));
        }
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
        self.ask_once(actor, call, None, None)
    }

    /// The same, once however often it is asked under the request id, and until the caller hangs up.
    pub fn ask_once(
        &self,
        actor: &Actor,
        call: Call,
        request_id: Option<String>,
        hangup: Option<Arc<Hangup>>,
    ) -> Result<Value, Failure> {
        let request = Request { request_id, ..self.context.request(actor, call) };
        let access = Access { hangup, ..self.context.access.clone() };
        let reply = client::ask(&self.context.place, request, &access);
        let over = reply.claim_over.into_iter().map(|over| (actor.clone(), over));
        self.state().over.extend(over);
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
    pub fn remember(&self, id: &str, revision: u64, hash: &str) {
        let mut state = self.state();
        if state.shown.len() >= MAX_REMEMBERED {
            // What was forgotten is compared by its number alone.
            state.shown.clear();
        }
        state.shown.insert((id.to_owned(), revision), hash.to_owned());
    }

    pub fn remembered(&self, id: &str, revision: u64) -> Option<String> {
        self.state().shown.get(&(id.to_owned(), revision)).cloned()
    }

    /// Where and for whom a JSON tool runs.
    pub fn tool_context<'a>(
        &self,
        actor: &Actor,
        progress: &'a dyn Fn(u8),
        hangup: Option<Arc<Hangup>>,
    ) -> tool::Context<'a> {
        let context = self.context.for_tool(actor, progress);
        tool::Context { access: Access { hangup, ..context.access.clone() }, ..context }
    }

    /// Gives a claim back whose caller is gone.
    pub fn give_back(&self, actor: &Actor, id: &str, fence: &str) {
        let (Ok(fence), Ok(reason)) = (fence.parse(), "given back: the call was cancelled".parse()) else {
            return;
        };
        let guard = Guard { fence: Some(fence), ..Guard::default() };
        let unclaim = Unclaim { id: id.to_owned(), guard, reason, ..Unclaim::default() };
        // A claim that is over already needs not be given back.
        let _ = self.ask(actor, Call::one(Op::Unclaim(unclaim)));
    }

    /// Claims of an actor that ended without its doing, each reported once.
    pub fn take_over(&self, actor: &Actor) -> Vec<ClaimOver> {
        let mut state = self.state();
        let (mine, others) = std::mem::take(&mut state.over).into_iter().partition(|(of, _)| of == actor);
        state.over = others;
        let mine: Vec<(Actor, ClaimOver)> = mine;
        mine.into_iter().map(|(_, over)| over).collect()
    }

    pub fn note_over(&self, actor: &Actor, over: Vec<ClaimOver>) {
        self.state().over.extend(over.into_iter().map(|over| (actor.clone(), over)));
    }

    pub fn set_focus(&self, actor: &Actor, id: Option<&str>) {
        let mut state = self.state();
        match id {
            Some(id) => drop(state.focus.insert(actor.clone(), id.to_owned())),
            None => drop(state.focus.remove(actor)),
        }
    }

    /// What is being worked on: the bead claimed last here if it is still held, else the one claimed last anywhere.
    pub fn focus_among<'a>(&self, actor: &Actor, mine: &'a [Value]) -> Option<&'a Value> {
        let focus = self.state().focus.get(actor).cloned();
        mine.iter().find(|bead| bead["id"].as_str() == focus.as_deref()).or_else(|| mine.first())
    }

    /// The bead a call is about: the one it names, else the focus.
    pub fn target(&self, actor: &Actor, named: Option<&str>) -> Result<String, Failure> {
        if let Some(id) = named {
            return super::target::id(self, actor, id);
        }
        let mine = self.mine(actor)?;
        let focus = self.focus_among(actor, &mine).and_then(|bead| bead["id"].as_str());
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
