//! The daemon's intentional bugs, for testing the tests; see [`beads_core::planted`].

use std::collections::BTreeMap;
use std::sync::Mutex;

use beads_core::planted::{Bug, is_planted};

use crate::request::{Call, Reply, Request};

/// The first answer to each query.
static FIRST_ANSWERS: Mutex<BTreeMap<String, Reply>> = Mutex::new(BTreeMap::new());

/// Returns whether to send replies before the journal is written.
#[inline]
pub fn commits_later() -> bool {
    is_planted(Bug::ReplyBeforeCommit)
}

/// Returns the first answer to the same query, as if it were current.
#[inline]
pub fn made_stale(request: &Request, answer: Reply) -> Reply {
    if !is_planted(Bug::StaleRead) || !matches!(request.call, Call::Query(_)) {
        return answer;
    }
    let question = serde_json::to_string(&(&request.call, &request.output)).unwrap_or_default();
    let position = answer.position;
    let mut first_answers = FIRST_ANSWERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Reply { position, ..first_answers.entry(question).or_insert(answer).clone() }
}
