//! Tells the client when a claim that it made here ends without its doing, so that an agent can stop before its next call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use beads_core::Actor;
use beads_engine::hangup::Hangup;
use beads_engine::request::{Call, ClaimOver, Query};
use serde_json::{Value, json};

use super::rpc::{self, RpcError};
use super::session::Session;

/// Each claim is waited for on a thread and a connection of its own. Beyond this many, the answer to the next call has to do.
const MAX_WAITING: usize = 32;

/// How long one question to the daemon stays open.
const ONE_WAIT: Duration = Duration::from_secs(10 * 60);

/// The severities of `logging/setLevel`, the least first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The severity of our messages.
const LEVEL: &str = "warning";

/// The claims whose ends are waited for.
#[derive(Debug, Default)]
pub struct ClaimEnds {
    open: Mutex<Open>,
    /// What the client wants to hear at least, as an index into [`LEVELS`].
    level: AtomicUsize,
}

#[derive(Debug, Default)]
struct Open {
    closed: bool,
    waits: Vec<Arc<Hangup>>,
}

impl ClaimEnds {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a wait, unless the server is leaving or waits for enough.
    pub fn begin(&self) -> Option<Arc<Hangup>> {
        let mut open = self.open();
        if open.closed || open.waits.len() >= MAX_WAITING {
            return None;
        }
        let wait = Arc::<Hangup>::default();
        open.waits.push(wait.clone());
        Some(wait)
    }

    /// Waits until the claim is over. Returns the notification for the client, or nothing when the holder ended the claim
    /// itself, or the client is gone.
    pub fn wait(&self, session: &Session, actor: &Actor, fence: &str, wait: &Arc<Hangup>) -> Option<Value> {
        let over = ended(session, actor, fence, wait);
        self.open().waits.retain(|other| !Arc::ptr_eq(other, wait));
        let over = over.filter(|over| over.by.as_ref() != Some(actor))?;
        let level = LEVELS.iter().position(|level| *level == LEVEL).unwrap_or_default();
        if self.level.load(Ordering::Relaxed) > level {
            return None;
        }
        let data = json!({"message": over.to_string(), "claim_over": over});
        let params = json!({"level": LEVEL, "logger": "beads", "data": data});
        Some(rpc::notification("notifications/message", &params))
    }

    /// Ends all waits, now and later.
    pub fn close(&self) {
        let mut open = self.open();
        open.closed = true;
        open.waits.iter().for_each(|wait| wait.hang_up());
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

/// Asks the daemon until the claim is over.
fn ended(session: &Session, actor: &Actor, fence: &str, wait: &Arc<Hangup>) -> Option<ClaimOver> {
    let fence = fence.parse().ok()?;
    while !wait.is_hung_up() {
        let question = Call::query(Query::ClaimOver { fence }).waiting(Some(ONE_WAIT));
        let mut answer = session.ask_once(actor, question, None, Some(wait.clone())).ok()?;
        if answer["over"] == true {
            return serde_json::from_value(answer["claim_over"].take()).ok();
        }
    }
    None
}
