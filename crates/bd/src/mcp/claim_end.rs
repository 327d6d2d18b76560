//! Notifies the client when another party ends one of its claims, so that an agent can stop before its next
//! call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use beads_core::Actor;
use beads_engine::cancel::CancelToken;
use beads_engine::request::{Call, ClaimOver, Query};
use serde_json::{Value, json};

use super::rpc::{self, RpcError};
use super::session::Session;

/// Each claim is watched by a separate thread and connection. Beyond this many, the client learns from its
/// next call.
const MAX_WAITS: usize = 32;

/// The timeout of one waiting query to the daemon.
const ONE_WAIT: Duration = Duration::from_secs(10 * 60);

/// The severities of `logging/setLevel`, in ascending order.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The severity of our messages.
const LEVEL: &str = "warning";

/// The claims that are being watched.
#[derive(Debug, Default)]
pub struct ClaimEnds {
    state: Mutex<State>,
    /// The lowest severity that the client wants, as an index into [`LEVELS`].
    level: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waits: Vec<Arc<CancelToken>>,
}

impl ClaimEnds {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a wait, unless the server is shutting down or there are too many.
    pub fn begin(&self) -> Option<Arc<CancelToken>> {
        let mut state = self.state();
        if state.closed || state.waits.len() >= MAX_WAITS {
            return None;
        }
        let wait = Arc::<CancelToken>::default();
        state.waits.push(wait.clone());
        Some(wait)
    }

    /// Waits until the claim is over. Returns the notification for the client, or `None` if the holder ended
    /// the claim itself or the client is gone.
    pub fn wait(
        &self,
        session: &Session,
        actor: &Actor,
        fence: &str,
        wait: &Arc<CancelToken>,
    ) -> Option<Value> {
        let over = ended(session, actor, fence, wait);
        self.state().waits.retain(|other| !Arc::ptr_eq(other, wait));
        let over = over.filter(|over| over.by.as_ref() != Some(actor))?;
        let level = LEVELS.iter().position(|level| *level == LEVEL).unwrap_or_default();
        if self.level.load(Ordering::Relaxed) > level {
            return None;
        }
        let data = json!({"message": over.to_string(), "claim_over": over});
        let params = json!({"level": LEVEL, "logger": "beads", "data": data});
        Some(rpc::notification("notifications/message", &params))
    }

    /// Ends all waits and allows no new ones.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waits.iter().for_each(|wait| wait.cancel());
    }

    /// Answers `logging/setLevel`.
    pub fn set_level(&self, level: Option<&Value>) -> Result<Value, RpcError> {
        let level = level.and_then(Value::as_str);
        let level = LEVELS.iter().position(|known| Some(*known) == level).ok_or_else(|| {
            RpcError::new(RpcError::INVALID_PARAMS, format!("level must be one of {}", LEVELS.join(", ")))
        })?;
        self.level.store(level, Ordering::Relaxed);
        Ok(json!({}))
    }
}

/// Queries the daemon until the claim is over.
fn ended(session: &Session, actor: &Actor, fence: &str, wait: &Arc<CancelToken>) -> Option<ClaimOver> {
    let fence = fence.parse().ok()?;
    while !wait.is_cancelled() {
        let question = Call::query(Query::ClaimOver { fence }).waiting(Some(ONE_WAIT));
        let mut answer = session.ask_once(actor, question, None, Some(wait.clone())).ok()?;
        if answer["over"] == true {
            return serde_json::from_value(answer["claim_over"].take()).ok();
        }
    }
    None
}
