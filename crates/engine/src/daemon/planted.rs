//! The daemon's share of the bugs on purpose; see [`beads_core::planted`].

use std::collections::BTreeMap;
use std::sync::Mutex;

use beads_core::planted::{Bug, is_planted};

use crate::request::{Call, Reply, Request};

/// The first answer to each question.
static TOLD: Mutex<BTreeMap<String, Reply>> = Mutex::new(BTreeMap::new());

/// Answers leave now, and the journal is written at the next checkpoint.
#[inline]
pub fn commits_later() -> bool {
    is_planted(Bug::ReplyBeforeCommit)
}

/// The answer that the same question got first, as if it were of now.
#[inline]
pub fn made_stale(request: &Request, answer: Reply) -> Reply {
    if !is_planted(Bug::StaleRead) || !matches!(request.call, Call::Query(_)) {
        return answer;
    }
    let question = serde_json::to_string(&(&request.call, &request.output)).unwrap_or_default();
    let position = answer.position;
    let mut told = TOLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Reply { position, ..told.entry(question).or_insert(answer).clone() }
}
