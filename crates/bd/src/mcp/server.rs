//! The server loop: lines in, lines out. The reading thread answers simple requests itself. Tool calls queue
//! up for one worker, so that they take effect in order. Long tool calls get their own threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Scope;

use beads_core::Actor;
use beads_engine::cancel::CancelToken;
use beads_engine::escape::escape_json;
use beads_engine::failure::{Code, Failure};
use serde_json::{Map, Value, json};

use super::claim_end::ClaimEnds;
use super::portal::{Caller, Claims, ToolAnswer};
use super::protocol::{self, RequestMeta};
use super::renew;
use super::rpc::{self, Incoming, RpcError};
use super::session::Session;
use super::toolset::Toolset;

/// A longer line is not a request.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Clients that show their model the structured content of an answer instead of its text: every field of a
/// bead, and no hint what to do next. They get only the text.
const TEXT_ONLY_CLIENTS: [&str; 2] = ["claude-code", "codex-mcp-client"];

/// A server for one client.
pub struct Server<W> {
    session: Session,
    toolset: Toolset,
    out: Mutex<W>,
    /// The first error while writing the output.
    write_error: OnceLock<std::io::Error>,
    pending: Mutex<Pending>,
    claim_ends: ClaimEnds,
}

/// Requests that are not answered yet.
#[derive(Debug, Default)]
struct Pending {
    /// Tool calls by id, with the token that cancels each.
    calls: BTreeMap<String, Arc<CancelToken>>,
    /// Tool calls that the client cancelled.
    cancelled: BTreeSet<String>,
    /// Open subscriptions.
    subscriptions: Vec<Value>,
}

/// A tool call that has been read.
#[derive(Debug)]
struct ToolCall {
    id: Value,
    meta: RequestMeta,
    name: String,
    arguments: Map<String, Value>,
    progress_token: Option<Value>,
    cancel: Arc<CancelToken>,
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
            write_error: OnceLock::new(),
            pending: Mutex::default(),
            claim_ends: ClaimEnds::default(),
        }
    }

    /// Serves until the input ends or the output cannot be written. Answers every request that was read
    /// before it returns.
    pub fn serve(mut self, input: impl Read) -> std::io::Result<()> {
        self.serve_all(input);
        self.write_error.take().map_or(Ok(()), Err)
    }

    fn serve_all(&self, input: impl Read) {
        std::thread::scope(|scope| {
            let (wake, wakeups) = channel();
            self.session.set_renewer(Some(wake));
            scope.spawn(move || renew::send_heartbeats(&self.session, &wakeups));
            let (queue, calls) = channel();
            let worker = scope.spawn(move || self.work(&calls, scope));
            let closed_by_client = self.read_all(input, scope, &queue);
            self.close();
            self.claim_ends.close();
            drop(queue);
            // The worker does not panic: a panicking call is answered with an error.
            let _ = worker.join();
            self.session.set_renewer(None);
            if closed_by_client {
                self.session.end();
            }
        });
        for id in std::mem::take(&mut self.pending().subscriptions) {
            let result = json!({"_meta": {protocol::SUBSCRIPTION_KEY: id}});
            self.send(&rpc::answer(&id, Ok(protocol::finished(result, true))));
        }
    }

    /// Cancels all calls after the client closed its input, so that a waiting call claims nothing.
    fn close(&self) {
        let pending = self.pending();
        pending.calls.values().for_each(|call| call.cancel());
    }

    /// Reads until the input ends. Returns whether the client closed it.
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
                _ if self.write_error.get().is_some() => return false,
                Ok(0) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
            if !line.ends_with(b"\n") && line.len() as u64 >= MAX_LINE_BYTES {
                let error = RpcError::new(RpcError::INVALID_REQUEST, "a message must not exceed 16 MiB");
                self.send(&rpc::answer(&Value::Null, Err(error)));
                return false;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match rpc::read(&line) {
                Err((id, error)) => drop(self.send(&rpc::answer(&id, Err(error)))),
                Ok(Incoming::Response) => {}
                Ok(Incoming::Notification { method, params }) => self.handle_notification(&method, &params),
                Ok(Incoming::Request { id, method, params }) => {
                    self.handle_request(id, &method, params, scope, queue);
                }
            }
        }
    }

    fn handle_notification(&self, method: &str, params: &Map<String, Value>) {
        if method == "notifications/progress" {
            self.session.record_activity_of_all();
        }
        if let ("notifications/cancelled", Some(id)) = (method, params.get("requestId")) {
            let mut pending = self.pending();
            pending.subscriptions.retain(|open| open != id);
            // A call that was already answered cannot be cancelled.
            if let Some(call) = pending.calls.get(&id.to_string()) {
                call.cancel();
                pending.cancelled.insert(id.to_string());
            }
        }
    }

    fn handle_request<'scope>(
        &'scope self,
        id: Value,
        method: &str,
        params: Map<String, Value>,
        scope: &'scope Scope<'scope, '_>,
        queue: &Sender<ToolCall>,
    ) {
        let meta = match protocol::request_meta(method, &params) {
            Ok(meta) => meta,
            Err(error) => {
                self.send(&rpc::answer(&id, Err(error)));
                return;
            }
        };
        if method == "tools/call" {
            match ToolCall::read(id.clone(), meta, params) {
                Err(error) => drop(self.send(&rpc::answer(&id, Err(error)))),
                Ok(call) => {
                    self.pending().calls.insert(call.id.to_string(), call.cancel.clone());
                    if call.is_long() {
                        scope.spawn(move || self.call(&call, scope));
                    } else {
                        // The worker outlives the reader, so this fails only if the worker panicked.
                        drop(queue.send(call));
                    }
                }
            }
            return;
        }
        if method == "subscriptions/listen" && meta.stateless {
            return self.listen(id, &params);
        }
        let result = self.answer_immediately(method, &params, &meta);
        self.send(&rpc::answer(&id, result.map(|result| protocol::finished(result, meta.stateless))));
    }

    fn answer_immediately(
        &self,
        method: &str,
        params: &Map<String, Value>,
        meta: &RequestMeta,
    ) -> Result<Value, RpcError> {
        match method {
            "initialize" if !meta.stateless => {
                let result = protocol::initialize(params)?;
                self.session.set_client(params.get("clientInfo").and_then(protocol::name));
                Ok(result)
            }
            "server/discover" => Ok(protocol::discover()),
            "ping" if !meta.stateless => Ok(json!({})),
            "logging/setLevel" if !meta.stateless => self.claim_ends.set_level(params.get("level")),
            "tools/list" => self.list(params, meta),
            _ => Err(RpcError::no_method(method)),
        }
    }

    fn list(&self, params: &Map<String, Value>, meta: &RequestMeta) -> Result<Value, RpcError> {
        let toolset = Toolset::from_params(params, self.toolset)?;
        let mut result = json!({"tools": super::listing(toolset)});
        if meta.stateless {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        Ok(result)
    }

    /// Acknowledges a subscription. The list of tools never changes, so it gets no notifications and ends
    /// with the server.
    fn listen(&self, id: Value, params: &Map<String, Value>) {
        if !params.get("notifications").is_some_and(Value::is_object) {
            let error = RpcError::new(RpcError::INVALID_PARAMS, "notifications must be an object");
            self.send(&rpc::answer(&id, Err(error)));
            return;
        }
        let accepted = json!({"_meta": {protocol::SUBSCRIPTION_KEY: id}, "notifications": {}});
        self.pending().subscriptions.push(id);
        self.send(&rpc::notification("notifications/subscriptions/acknowledged", &accepted));
    }

    fn work<'scope>(&'scope self, calls: &Receiver<ToolCall>, scope: &'scope Scope<'scope, '_>) {
        for call in calls {
            self.call(&call, scope);
        }
    }

    /// Returns whether the client cancelled a call. Calls that were read before the input ended are still
    /// answered.
    fn is_cancelled(&self, call: &ToolCall) -> bool {
        self.pending().cancelled.contains(&call.id.to_string())
    }

    /// Runs a call and sends its answer. A cancelled call is not started, or ends early, and gets no answer.
    /// Its claims are released, unless the client chose a request id and so may retry.
    fn call<'scope>(&'scope self, call: &ToolCall, scope: &'scope Scope<'scope, '_>) {
        let claims = Claims::default();
        let answer = (!self.is_cancelled(call)).then(|| {
            // A panic becomes an answer, and the worker survives for the next call.
            catch_unwind(AssertUnwindSafe(|| self.answer(call, &claims))).unwrap_or_else(|_| {
                let failure = Failure::new(Code::InternalError, "internal error in the tool");
                self.result(call, super::failed(&call.name, &failure, &self.session, self.toolset))
            })
        });
        let cancelled = {
            let mut pending = self.pending();
            pending.calls.remove(&call.id.to_string());
            pending.cancelled.remove(&call.id.to_string())
        };
        let delivered = match answer {
            Some(result) if !cancelled => {
                self.send(&rpc::answer(&call.id, Ok(protocol::finished(result, call.meta.stateless))))
            }
            _ => false,
        };
        for (actor, id, fence) in claims.take() {
            if delivered {
                self.session.record_claim(&fence);
                self.watch_claim(actor, fence, call.meta.stateless, scope);
            } else if !call.may_be_retried() {
                self.session.release_claim(&actor, &id, &fence);
            }
        }
    }

    /// Notifies the client when another party ends a claim. A client without a handshake cannot be notified.
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
        let answer = match self.session.actor(call.meta.client.as_deref()) {
            Ok(actor) => {
                let is_cancelled = || call.cancel.is_cancelled();
                let caller = Caller {
                    session: &self.session,
                    actor: &actor,
                    progress: &progress,
                    toolset: self.toolset,
                    is_cancelled: &is_cancelled,
                    cancel: &call.cancel,
                    request_id: None,
                    claims,
                };
                super::call(&call.name, call.arguments.clone(), caller)
            }
            Err(failure) => super::failed(&call.name, &failure, &self.session, self.toolset),
        };
        self.result(call, answer)
    }

    fn result(&self, call: &ToolCall, answer: ToolAnswer) -> Value {
        let mut result = json!({"content": [{"type": "text", "text": answer.text}]});
        let client = self.session.client(call.meta.client.as_deref());
        let text_only = client.is_some_and(|client| TEXT_ONLY_CLIENTS.contains(&client.as_str()));
        if answer.data.is_object() && !text_only {
            result["structuredContent"] = answer.data;
        }
        if answer.failed {
            result["isError"] = json!(true);
        }
        result
    }

    /// Writes one message. Returns whether that succeeded.
    fn send(&self, message: &Value) -> bool {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let line = escape_json(format!("{message}\n"));
        let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| drop(self.write_error.set(error))).is_ok()
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolCall {
    fn read(id: Value, meta: RequestMeta, mut params: Map<String, Value>) -> Result<Self, RpcError> {
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
        Ok(Self { id, meta, name, arguments, progress_token, cancel: Arc::default() })
    }

    /// Returns whether the client chose a request id, so that it may retry.
    fn may_be_retried(&self) -> bool {
        ["request_id", "idempotency_key"]
            .iter()
            .any(|name| self.arguments.get(*name).is_some_and(Value::is_string))
    }

    /// Returns whether the call may wait, so that it must not block the worker.
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
