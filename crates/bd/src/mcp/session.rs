//! One client's connection: which store it works on, as whom, and what it is working on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use beads_core::op::{Fence, Guard, Unclaim};
use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_core::{Actor, Op};
use beads_engine::client::{self, Access};
use beads_engine::failure::{Code, Failure};
use beads_engine::hangup::Hangup;
use beads_engine::request::{Call, ClaimOver, Query, Request};
use beads_engine::session_id::SessionId;
use beads_engine::session_lock::SessionLock;
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
    /// The run of the agent: as its harness names it, or this process.
    id: SessionId,
    /// Held while this process is the session, so that others know when it is gone.
    lock: OnceLock<SessionLock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The name the client gave in its handshake.
    client: Option<String>,
    /// Everybody this connection has acted for.
    actors: BTreeSet<Actor>,
    /// The bead that each of them claimed last through this connection.
    focus: BTreeMap<Actor, String>,
    /// Claims that ended without their holder's doing, not yet reported.
    over: Vec<(Actor, ClaimOver)>,
    /// The content that was shown of a bead under a revision.
    shown: BTreeMap<(String, u64), String>,
    /// Claims that were handed out here.
    claimed: Vec<Fence>,
    /// Where heartbeats are sent from.
    renewer: Option<Sender<Actor>>,
}

impl Session {
    pub fn new(context: Context, workspace: Option<&str>) -> Result<Self, Failure> {
        let workspace = Workspace::new(workspace, &context.place)?;
        let id = context.session.clone().unwrap_or_else(SessionId::of_this_process);
        Ok(Self { context, workspace, id, lock: OnceLock::new(), state: Mutex::default() })
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

    /// The name of the client: of one request, else of the handshake.
    pub fn client(&self, named: Option<&str>) -> Option<String> {
        named.map(str::to_owned).or_else(|| self.state().client.clone())
    }

    /// Who acts: as the command line or the environment say, else the client by its name, else the user.
    pub fn actor(&self, client: Option<&str>) -> Result<Actor, Failure> {
        let actor = match (self.context.chosen_actor.clone()?, self.client(client)) {
            (Some(actor), _) => actor,
            (None, Some(client)) => at_this_host(&client, self.context.place.worktree.as_deref())?,
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
        state.actors.insert(actor.clone());
        // Without a renewer nothing is served any more.
        let _ = state.renewer.as_ref().map(|renewer| renewer.send(actor.clone()));
    }

    /// Everybody who acted here is at work: the client said so without a call.
    pub fn is_at_work(&self) {
        let state = self.state();
        for (actor, renewer) in state.actors.iter().zip(std::iter::repeat(&state.renewer)) {
            let _ = renewer.as_ref().map(|renewer| renewer.send(actor.clone()));
        }
    }

    /// Sets where heartbeats are sent from; `None` lets it go.
    pub fn set_renewer(&self, renewer: Option<Sender<Actor>>) {
        self.state().renewer = renewer;
    }

    /// A claim was handed out here.
    pub fn note_claim(&self, fence: &str) {
        if let Ok(fence) = fence.parse() {
            self.state().claimed.push(fence);
        }
    }

    /// The client closed its input: gives back what was claimed here. Where the harness names the session, that may go on
    /// without this process.
    pub fn end(&self) {
        let (actor, claimed) = {
            let state = self.state();
            (state.actors.first().cloned(), state.claimed.clone())
        };
        let Some(actor) = actor.filter(|_| !claimed.is_empty()) else { return };
        let fences = if self.context.session.is_some() { claimed } else { Vec::new() };
        // What cannot be given back is silent from now on, and others may take it over.
        let _ = self.ask(&actor, Call::EndSession { keep: false, fences });
    }

    /// Lets others know when this process is gone, from the first time on that it may hold something.
    fn hold_lock(&self) {
        if self.context.session.is_none() && self.lock.get().is_none() {
            let lock = SessionLock::hold(&self.context.place.store_dir(), &self.id);
            let _ = lock.map(|lock| self.lock.set(lock));
        }
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
        if call.mutates() {
            self.hold_lock();
        }
        let mut request = Request { request_id, ..self.context.request(actor, &self.id, call) };
        // The server itself waits for the end of claims, so that is no sign of life of the agent.
        request.session = request.session.filter(|_| !is_watch(&request.call));
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

    /// The beads that this session holds, the one claimed last first.
    pub fn held(&self, actor: &Actor) -> Result<Vec<Value>, Failure> {
        let held = self.ask(actor, Call::Heartbeat)?;
        let is_held = |bead: &Value| {
            held["held"].as_array().into_iter().flatten().any(|claim| claim["id"] == bead["id"])
        };
        let mut mine = self.mine(actor)?;
        mine.retain(is_held);
        Ok(mine)
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
        self.hold_lock();
        let context = self.context.for_tool(actor, &self.id, progress);
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
        let mine = self.held(actor)?;
        let focus = self.focus_among(actor, &mine).and_then(|bead| bead["id"].as_str());
        focus
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(Code::NoFocus, "you hold no bead, and none was named"))
    }
}

/// Clients of one name on two machines, or in two worktrees, are two agents.
fn at_this_host(client: &str, worktree: Option<&str>) -> Result<Actor, Failure> {
    let name: String = client.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    let uname = rustix::system::uname();
    let worktree = worktree.map(|name| format!("/{name}")).unwrap_or_default();
    Ok(format!("{name}@{}{worktree}", uname.nodename().to_string_lossy()).parse()?)
}

fn is_watch(call: &Call) -> bool {
    match call {
        Call::Wait { call, .. } => is_watch(call),
        Call::Query(query) => matches!(**query, Query::ClaimOver { .. }),
        _ => false,
    }
}
