//! One client's connection: its store, its actors, and what they are working on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use beads_core::op::{Fence, Guard, Unclaim};
use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_core::{Actor, Op};
use beads_engine::cancel::CancelToken;
use beads_engine::client::{self, Access};
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, ClaimOver, Query, Request};
use beads_engine::session_id::SessionId;
use beads_engine::session_lock::SessionLock;
use serde_json::Value;

use super::context::Context;
use super::workspace::Workspace;
use crate::tool;

/// Bounds the memory of a long session.
const MAX_REMEMBERED: usize = 10_000;

/// The state that outlives a single request.
#[derive(Debug)]
pub struct Session {
    context: Context,
    pub workspace: Workspace,
    /// The agent's session: as its harness names it, else this process.
    id: SessionId,
    /// Held while this process is the session, so that others can detect its end.
    lock: OnceLock<SessionLock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The name the client gave in its handshake.
    client: Option<String>,
    /// All actors of this connection.
    actors: BTreeSet<Actor>,
    /// The bead that each actor last claimed through this connection.
    focus: BTreeMap<Actor, String>,
    /// Claims that another party ended, not yet reported.
    ended_claims: Vec<(Actor, ClaimOver)>,
    /// The content hash of each bead and revision that was shown.
    shown: BTreeMap<(String, u64), String>,
    /// Claims that were made through this connection.
    claimed: Vec<Fence>,
    /// Wakes the thread that sends heartbeats.
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

    /// Returns whether the program of this process was removed. Then it can start no daemon, so nothing is
    /// pushed.
    pub fn must_restart(&self) -> bool {
        !self.context.access.no_daemon && beads_engine::daemon::program().is_err()
    }

    /// Returns whether a daemon answers requests; only a daemon can wait for events.
    pub fn has_daemon(&self) -> bool {
        !self.context.access.no_daemon
    }

    /// Sets the name that the client gave in its handshake.
    pub fn set_client(&self, client: Option<String>) {
        self.state().client = client;
    }

    /// Returns the client's name from the request, else from the handshake.
    pub fn client(&self, named: Option<&str>) -> Option<String> {
        named.map(str::to_owned).or_else(|| self.state().client.clone())
    }

    /// Returns the actor: from the command line or the environment, else named after the client, else the
    /// user.
    pub fn actor(&self, client: Option<&str>) -> Result<Actor, Failure> {
        let actor = match (self.context.chosen_actor.clone()?, self.client(client)) {
            (Some(actor), _) => actor,
            (None, Some(client)) => client_actor(&client, self.context.place.worktree.as_deref())?,
            (None, None) => self.context.default_actor.clone()?,
        };
        self.record_activity(&actor);
        Ok(actor)
    }

    /// Returns the actor of a subagent that shares this connection but has separate claims.
    pub fn subagent(&self, actor: &Actor, agent: &str) -> Result<Actor, Failure> {
        let actor = format!("{actor}/{agent}").parse()?;
        self.record_activity(&actor);
        Ok(actor)
    }

    fn record_activity(&self, actor: &Actor) {
        let mut state = self.state();
        state.actors.insert(actor.clone());
        // Without a renewer the server is shutting down.
        let _ = state.renewer.as_ref().map(|renewer| renewer.send(actor.clone()));
    }

    /// Records activity of all actors, after a progress notification.
    pub fn record_activity_of_all(&self) {
        let state = self.state();
        for (actor, renewer) in state.actors.iter().zip(std::iter::repeat(&state.renewer)) {
            let _ = renewer.as_ref().map(|renewer| renewer.send(actor.clone()));
        }
    }

    /// Sets or removes the channel to the heartbeat thread.
    pub fn set_renewer(&self, renewer: Option<Sender<Actor>>) {
        self.state().renewer = renewer;
    }

    /// Records a claim that was made through this connection.
    pub fn record_claim(&self, fence: &str) {
        if let Ok(fence) = fence.parse() {
            self.state().claimed.push(fence);
        }
    }

    /// Releases the claims after the client closed its input. A session that the harness names may continue
    /// without this process, so only the claims made here are released.
    pub fn end(&self) {
        let (actor, claimed) = {
            let state = self.state();
            (state.actors.first().cloned(), state.claimed.clone())
        };
        let Some(actor) = actor.filter(|_| !claimed.is_empty()) else { return };
        let fences = if self.context.session.is_some() { claimed } else { Vec::new() };
        // A claim that cannot be released falls silent, and others may take it over.
        let _ = self.ask(&actor, Call::EndSession { keep: false, fences });
    }

    /// Takes the session lock before the first possible claim, so that others can detect the end of this
    /// process.
    fn hold_lock(&self) {
        if self.context.session.is_none() && self.lock.get().is_none() {
            let lock = SessionLock::hold(&self.context.place.store_dir(), &self.id);
            let _ = lock.map(|lock| self.lock.set(lock));
        }
    }

    pub fn directory(&self) -> &std::path::Path {
        &self.context.directory
    }

    /// Sends a call to the store.
    pub fn ask(&self, actor: &Actor, call: Call) -> Result<Value, Failure> {
        self.ask_once(actor, call, None, None)
    }

    /// Sends a call that runs only once per request id, and that the caller can cancel.
    pub fn ask_once(
        &self,
        actor: &Actor,
        call: Call,
        request_id: Option<String>,
        cancel: Option<Arc<CancelToken>>,
    ) -> Result<Value, Failure> {
        if call.mutates() {
            self.hold_lock();
        }
        let mut request = Request { request_id, ..self.context.request(actor, &self.id, call) };
        // The server itself waits for claims to end, so that call is no sign of life of the agent.
        request.session = request.session.filter(|_| !is_watch(&request.call));
        let access = Access { cancel, ..self.context.access.clone() };
        let reply = client::ask(&self.context.place, request, &access);
        let over = reply.claim_over.into_iter().map(|over| (actor.clone(), over));
        self.state().ended_claims.extend(over);
        if let Some(failure) = reply.error {
            return Err(failure);
        }
        let text = reply.result.as_ref().map_or("null", |result| result.get());
        serde_json::from_str(text).map_err(|error| {
            Failure::new(Code::InternalError, format!("cannot parse the store's answer: {error}"))
        })
    }

    pub fn query(&self, actor: &Actor, query: Query) -> Result<Value, Failure> {
        self.ask(actor, Call::query(query))
    }

    /// Returns the beads assigned to an actor, most recently claimed first.
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

    /// Returns the beads that this session holds, most recently claimed first.
    pub fn held(&self, actor: &Actor) -> Result<Vec<Value>, Failure> {
        let held = self.ask(actor, Call::Heartbeat)?;
        let is_held = |bead: &Value| {
            held["held"].as_array().into_iter().flatten().any(|claim| claim["id"] == bead["id"])
        };
        let mut mine = self.mine(actor)?;
        mine.retain(is_held);
        Ok(mine)
    }

    /// Remembers the content that the client saw as a revision.
    pub fn remember(&self, id: &str, revision: u64, hash: &str) {
        let mut state = self.state();
        if state.shown.len() >= MAX_REMEMBERED {
            // Forgotten revisions are compared by number only.
            state.shown.clear();
        }
        state.shown.insert((id.to_owned(), revision), hash.to_owned());
    }

    pub fn remembered(&self, id: &str, revision: u64) -> Option<String> {
        self.state().shown.get(&(id.to_owned(), revision)).cloned()
    }

    /// Returns the context in which a JSON tool runs.
    pub fn tool_context<'a>(
        &self,
        actor: &Actor,
        progress: &'a dyn Fn(u8),
        cancel: Option<Arc<CancelToken>>,
    ) -> tool::Context<'a> {
        self.hold_lock();
        let context = self.context.for_tool(actor, &self.id, progress);
        tool::Context { access: Access { cancel, ..context.access.clone() }, ..context }
    }

    /// Releases a claim whose caller is gone.
    pub fn release_claim(&self, actor: &Actor, id: &str, fence: &str) {
        let (Ok(fence), Ok(reason)) = (fence.parse(), "given back: the call was cancelled".parse()) else {
            return;
        };
        let guard = Guard { fence: Some(fence), ..Guard::default() };
        let unclaim = Unclaim { id: id.to_owned(), guard, reason, ..Unclaim::default() };
        // Fails harmlessly if the claim has already ended.
        let _ = self.ask(actor, Call::one(Op::Unclaim(unclaim)));
    }

    /// Returns the actor's claims that another party ended; each is reported once.
    pub fn take_ended_claims(&self, actor: &Actor) -> Vec<ClaimOver> {
        let mut state = self.state();
        let (mine, others) =
            std::mem::take(&mut state.ended_claims).into_iter().partition(|(of, _)| of == actor);
        state.ended_claims = others;
        let mine: Vec<(Actor, ClaimOver)> = mine;
        mine.into_iter().map(|(_, over)| over).collect()
    }

    pub fn add_ended_claims(&self, actor: &Actor, over: Vec<ClaimOver>) {
        self.state().ended_claims.extend(over.into_iter().map(|over| (actor.clone(), over)));
    }

    pub fn set_focus(&self, actor: &Actor, id: Option<&str>) {
        let mut state = self.state();
        match id {
            Some(id) => drop(state.focus.insert(actor.clone(), id.to_owned())),
            None => drop(state.focus.remove(actor)),
        }
    }

    /// Returns the bead in focus: the one last claimed here if it is still held, else the one last claimed
    /// anywhere.
    pub fn focus_among<'a>(&self, actor: &Actor, mine: &'a [Value]) -> Option<&'a Value> {
        let focus = self.state().focus.get(actor).cloned();
        mine.iter().find(|bead| bead["id"].as_str() == focus.as_deref()).or_else(|| mine.first())
    }

    /// Returns the bead that a call is about: the one it names, else the focus.
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

/// Derives an actor from the client's name. The host and the worktree distinguish agents that use the same
/// client.
fn client_actor(client: &str, worktree: Option<&str>) -> Result<Actor, Failure> {
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
