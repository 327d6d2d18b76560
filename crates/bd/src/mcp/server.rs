//! Lines in, lines out. What can be answered at once is answered by whoever reads; tool calls queue up for one worker, so that
//! they take effect in the order in which they came; long ones go their own way.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Scope;

use beads_core::Actor;
use beads_engine::escape::escape_json;
use beads_engine::failure::{Code, Failure};
use beads_engine::hangup::Hangup;
use serde_json::{Map, Value, json};

use super::claim_end::ClaimEnds;
use super::portal::{Called, Caller, Claims};
use super::protocol::{self, Era};
use super::renew;
use super::rpc::{self, Incoming, RpcError};
use super::session::Session;
use super::toolset::Toolset;

/// A longer line is not a request.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Programs that show their model the data of an answer in place of its lines: every field of a bead, and no word about what to do
/// next. They get the lines alone.
const SHOWS_DATA: [&str; 2] = ["claude-code", "codex-mcp-client"];

/// A server for one client.
pub struct Server<W> {
    session: Session,
    toolset: Toolset,
    out: Mutex<W>,
    /// Why the output cannot be written, if so.
    unwritten: OnceLock<std::io::Error>,
    waiting: Mutex<Waiting>,
    claim_ends: ClaimEnds,
}

/// What is not answered yet.
#[derive(Debug, Default)]
struct Waiting {
    /// Tool calls by their ids; the client gives up on one by hanging up.
    calls: BTreeMap<String, Arc<Hangup>>,
    /// Those that the client cancelled.
    cancelled: BTreeSet<String>,
    /// Subscriptions that are open.
    listening: Vec<Value>,
}

/// A tool call that has been read.
#[derive(Debug)]
struct ToolCall {
    id: Value,
    era: Era,
    name: String,
    arguments: Map<String, Value>,
    progress_token: Option<Value>,
    hangup: Arc<Hangup>,
}

impl<W> std::fmt::Debug for Server<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("session", &self.session).finish_non_exhaustive()
    }
}

impl<W: Write + Send> Server<W> {
    pub fn new(session: Session, toolset: Toolset, out: W) -> Self {
        Self {
            session,
            toolset,
            out: Mutex::new(out),
            unwritten: OnceLock::new(),
            waiting: Mutex::default(),
            claim_ends: ClaimEnds::default(),
        }
    }

    /// Serves until the input ends, or the output cannot be written. Everything that was read is answered before this
    /// returns.
    pub fn serve(mut self, input: impl Read) -> std::io::Result<()> {
        self.serve_all(input);
        self.unwritten.take().map_or(Ok(()), Err)
    }

    fn serve_all(&self, input: impl Read) {
        std::thread::scope(|scope| {
            let (wake, woken) = channel();
            self.session.set_renewer(Some(wake));
            scope.spawn(move || renew::keep(&self.session, &woken));
            let (queue, calls) = channel();
            let worker = scope.spawn(move || self.work(&calls, scope));
            let is_orderly = self.read_all(input, scope, &queue);
            self.close();
            self.claim_ends.close();
            drop(queue);
            // It does not panic: a call that does is answered.
            let _ = worker.join();
            self.session.set_renewer(None);
            if is_orderly {
                self.session.end();
            }
        });
        for id in std::mem::take(&mut self.waiting().listening) {
            let result = json!({"_meta": {protocol::SUBSCRIPTION_KEY: id}});
            self.send(&rpc::answer(&id, Ok(protocol::finished(result, true))));
        }
    }

    /// The client asks no more. What waits for work must not be handed any.
    fn close(&self) {
        let waiting = self.waiting();
        waiting.calls.values().for_each(|call| call.hang_up());
    }

    /// Reads until the input ends. Returns whether the client closed it, as one does that leaves.
    fn read_all<'scope>(
        &'scope self,
        input: impl Read,
        scope: &'scope Scope<'scope, '_>,
        queue: &Sender<ToolCall>,
    ) -> bool {
        let mut input = BufReader::new(input);
        loop {
            let mut line = Vec::new();
            let read = (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            match read {
                _ if self.unwritten.get().is_some() => return false,
                Ok(0) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
            if !line.ends_with(b"\n") && line.len() as u64 >= MAX_LINE_BYTES {
                let error = RpcError::new(RpcError::INVALID_REQUEST, "a message has at most 16 MiB");
                self.send(&rpc::answer(&Value::Null, Err(error)));
                return false;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match rpc::read(&line) {
                Err((id, error)) => drop(self.send(&rpc::answer(&id, Err(error)))),
                Ok(Incoming::Response) => {}
                Ok(Incoming::Notification { method, params }) => self.heed(&method, &params),
                Ok(Incoming::Request { id, method, params }) => {
                    self.request(id, &method, params, scope, queue);
                }
            }
        }
    }

    fn heed(&self, method: &str, params: &Map<String, Value>) {
        if method == "notifications/progress" {
            self.session.is_at_work();
        }
        if let ("notifications/cancelled", Some(id)) = (method, params.get("requestId")) {
            let mut waiting = self.waiting();
            waiting.listening.retain(|open| open != id);
            // What was answered already cannot be given up.
            if let Some(call) = waiting.calls.get(&id.to_string()) {
                call.hang_up();
                waiting.cancelled.insert(id.to_string());
            }
        }
    }

    fn request<'scope>(
        &'scope self,
        id: Value,
        method: &str,
        params: Map<String, Value>,
        scope: &'scope Scope<'scope, '_>,
        queue: &Sender<ToolCall>,
    ) {
        let era = match protocol::era(method, &params) {
            Ok(era) => era,
            Err(error) => {
                self.send(&rpc::answer(&id, Err(error)));
                return;
            }
        };
        if method == "tools/call" {
            match ToolCall::read(id.clone(), era, params) {
                Err(error) => drop(self.send(&rpc::answer(&id, Err(error)))),
                Ok(call) => {
                    self.waiting().calls.insert(call.id.to_string(), call.hangup.clone());
                    if call.is_long() {
                        scope.spawn(move || self.call(&call, scope));
                    } else {
                        // The worker outlives the reading; if it has panicked, nobody is left to answer.
                        drop(queue.send(call));
                    }
                }
            }
            return;
        }
        if method == "subscriptions/listen" && era.stateless {
            return self.listen(id, &params);
        }
        let result = self.at_once(method, &params, &era);
        self.send(&rpc::answer(&id, result.map(|result| protocol::finished(result, era.stateless))));
    }

    fn at_once(&self, method: &str, params: &Map<String, Value>, era: &Era) -> Result<Value, RpcError> {
        match method {
            "initialize" if !era.stateless => {
                let result = protocol::initialize(params)?;
                self.session.greet(params.get("clientInfo").and_then(protocol::name));
                Ok(result)
            }
            "server/discover" => Ok(protocol::discover()),
            "ping" if !era.stateless => Ok(json!({})),
            "logging/setLevel" if !era.stateless => self.claim_ends.set_level(params.get("level")),
            "tools/list" => self.list(params, era),
            _ => Err(RpcError::no_method(method)),
        }
    }

    fn list(&self, params: &Map<String, Value>, era: &Era) -> Result<Value, RpcError> {
        let toolset = Toolset::asked(params, self.toolset)?;
        let mut result = json!({"tools": super::listing(toolset)});
        if era.stateless {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        Ok(result)
    }

    /// The list of tools never changes while a server runs, so a subscription is acknowledged, hears nothing, and ends with the server.
    fn listen(&self, id: Value, params: &Map<String, Value>) {
        if !params.get("notifications").is_some_and(Value::is_object) {
            let error = RpcError::new(RpcError::INVALID_PARAMS, "notifications must be an object");
            self.send(&rpc::answer(&id, Err(error)));
            return;
        }
        let accepted = json!({"_meta": {protocol::SUBSCRIPTION_KEY: id}, "notifications": {}});
        self.waiting().listening.push(id);
        self.send(&rpc::notification("notifications/subscriptions/acknowledged", &accepted));
    }

    fn work<'scope>(&'scope self, calls: &Receiver<ToolCall>, scope: &'scope Scope<'scope, '_>) {
        for call in calls {
            self.call(&call, scope);
        }
    }

    /// Whether the client cancelled a call. What was asked before the input ended is still answered.
    fn is_cancelled(&self, call: &ToolCall) -> bool {
        self.waiting().cancelled.contains(&call.id.to_string())
    }

    /// A call that the client gave up on is not begun, or ends early, and has no answer. What it claimed is given back, unless
    /// the client chose a request id and so may ask again.
    fn call<'scope>(&'scope self, call: &ToolCall, scope: &'scope Scope<'scope, '_>) {
        let claims = Claims::default();
        let answer = (!self.is_cancelled(call)).then(|| {
            // A fault of ours is an answer too, and the next call has its worker.
            catch_unwind(AssertUnwindSafe(|| self.answer(call, &claims))).unwrap_or_else(|_| {
                let failure = Failure::new(Code::InternalError, "the tool failed for a reason of its own");
                self.result(call, super::failed(&call.name, &failure, &self.session, self.toolset))
            })
        });
        let cancelled = {
            let mut waiting = self.waiting();
            waiting.calls.remove(&call.id.to_string());
            waiting.cancelled.remove(&call.id.to_string())
        };
        let delivered = match answer {
            Some(result) if !cancelled => {
                self.send(&rpc::answer(&call.id, Ok(protocol::finished(result, call.era.stateless))))
            }
            _ => false,
        };
        for (actor, id, fence) in claims.take() {
            if delivered {
                self.session.note_claim(&fence);
                self.watch_claim(actor, fence, call.era.stateless, scope);
            } else if !call.may_be_retried() {
                self.session.give_back(&actor, &id, &fence);
            }
        }
    }

    /// Notifies the client when a claim ends without its doing. A client without a handshake cannot be notified.
    fn watch_claim<'scope>(
        &'scope self,
        actor: Actor,
        fence: String,
        stateless: bool,
        scope: &'scope Scope<'scope, '_>,
    ) {
        if stateless || !self.session.has_daemon() {
            return;
        }
        let Some(wait) = self.claim_ends.begin() else { return };
        scope.spawn(move || {
            if let Some(message) = self.claim_ends.wait(&self.session, &actor, &fence, &wait) {
                self.send(&message);
            }
        });
    }

    fn answer(&self, call: &ToolCall, claims: &Claims) -> Value {
        let progress = |done: u64, all: u64| {
            if let Some(token) = &call.progress_token {
                let params = json!({"progressToken": token, "progress": done, "total": all});
                self.send(&rpc::notification("notifications/progress", &params));
            }
        };
        let called = match self.session.actor(call.era.client.as_deref()) {
            Ok(actor) => {
                let given_up = || call.hangup.is_hung_up();
                let caller = Caller {
                    session: &self.session,
                    actor: &actor,
                    progress: &progress,
                    toolset: self.toolset,
                    given_up: &given_up,
                    hangup: &call.hangup,
                    request_id: None,
                    claims,
                };
                super::call(&call.name, call.arguments.clone(), caller)
            }
            Err(failure) => super::failed(&call.name, &failure, &self.session, self.toolset),
        };
        self.result(call, called)
    }

    fn result(&self, call: &ToolCall, called: Called) -> Value {
        let mut result = json!({"content": [{"type": "text", "text": called.text}]});
        let client = self.session.client(call.era.client.as_deref());
        let shows_data = client.is_some_and(|client| SHOWS_DATA.contains(&client.as_str()));
        if called.data.is_object() && !shows_data {
            result["structuredContent"] = called.data;
        }
        if called.failed {
            result["isError"] = json!(true);
        }
        result
    }

    /// Writes one message, whole; whether it could be written.
    fn send(&self, message: &Value) -> bool {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let line = escape_json(format!("{message}\n"));
        let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| drop(self.unwritten.set(error))).is_ok()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolCall {
    fn read(id: Value, era: Era, mut params: Map<String, Value>) -> Result<Self, RpcError> {
        let invalid = |message: String| RpcError::new(RpcError::INVALID_PARAMS, message);
        let Some(Value::String(name)) = params.remove("name") else {
            return Err(invalid("name must be a string".to_owned()));
        };
        if !super::is_tool(&name) {
            return Err(invalid(format!("Unknown tool: {name}")));
        }
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(invalid("arguments must be an object".to_owned())),
        };
        let progress_token = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        Ok(Self { id, era, name, arguments, progress_token, hangup: Arc::default() })
    }

    /// Whether the client chose a request id, so that it may ask again for what it missed.
    fn may_be_retried(&self) -> bool {
        ["request_id", "idempotency_key"]
            .iter()
            .any(|name| self.arguments.get(*name).is_some_and(Value::is_string))
    }

    /// Whether it may wait for something that others would have to wait for too.
    fn is_long(&self) -> bool {
        let waits =
            |field: &str| self.arguments.get(field).and_then(Value::as_u64).is_some_and(|time| time > 0);
        let confirms = self.arguments.get("confirm") == Some(&Value::Bool(true));
        match self.name.as_str() {
            "beads_sync" => true,
            "beads_watch" => waits("timeout_ms"),
            "beads_claim" => waits("wait_ms") || confirms,
            "next" => waits("wait_s") || confirms,
            _ => false,
        }
    }
}
