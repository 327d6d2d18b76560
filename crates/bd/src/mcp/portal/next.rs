use std::time::Duration;

use beads_core::op::{ClaimBead, ClaimNext};
use beads_core::query::{Filter, ReadyFilter};
use beads_core::{Op, Timestamp};
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, Query};
use beads_store::{RealWorld, World};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Expected, PortalCall, brief_lines, ids, listed_ids, resolve_target, text};
use crate::mcp::lines::{Lines, command};

/// The longest time without a progress notification.
const SLICE_S: u64 = 5;

/// The longest wait; a client that wants to wait longer calls again.
pub const MAX_WAIT_S: u64 = 600;

/// Claim the best ready bead, or the given one, and get its brief.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Next {
    id: Option<String>,
    label: Option<String>,
    /// Only below this bead
    under: Option<String>,
    /// Seconds to wait for work
    wait_s: Option<u64>,
    /// Claim another while holding one
    #[serde(default)]
    more: bool,
    /// Confirm with the remote
    #[serde(default)]
    confirm: bool,
    /// Take over silent claims
    #[serde(default)]
    take_over: bool,
    expected_target_id: Option<String>,
    #[serde(default)]
    strict_targeting: bool,
}

impl PortalCall for Next {
    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let Caller { session, .. } = caller;
        let expected =
            Expected::new(self.expected_target_id.clone().map(Value::from), self.strict_targeting)?;
        if self.id.is_none() {
            // Report invalid arguments before anything else.
            self.filter(caller)?;
        }
        let claimed = match &self.id {
            Some(_) if self.label.is_some() || self.under.is_some() || self.wait_s.is_some() => {
                return Err(Failure::usage("label, under and wait_s cannot be used with id"));
            }
            Some(id) => {
                let id = resolve_target(caller, Some(id), &expected)?;
                self.claim(caller, id)?
            }
            None if !self.more && !held(caller)?.is_empty() => {
                let held = held(caller)?;
                let message = format!("you hold {} already; nothing was claimed", listed_ids(&held));
                return Err(Failure::new(Code::Holding, message).with(json!({"held": ids(&held)})));
            }
            None if expected.is_some() => match self.best(caller)? {
                None => return nothing_ready(caller),
                // Claim the expected bead by id, because another one may become the best in the meantime.
                Some(id) => {
                    expected.check(&id, caller)?;
                    self.claim(caller, id)?
                }
            },
            None => match self.choose(caller) {
                // The wait is also over when the input ends.
                Err(failure) if matches!(failure.code, Code::NothingReady | Code::CallCancelled) => {
                    return nothing_ready(caller);
                }
                claimed => claimed?,
            },
        };
        session.set_focus(caller.actor, claimed["id"].as_str());
        Ok(brief_lines(&claimed))
    }
}

impl Next {
    fn filter(&self, caller: Caller<'_>) -> Result<ReadyFilter, Failure> {
        let Caller { session, actor, .. } = caller;
        let labels = self.label.iter().map(|label| label.parse()).collect::<Result<_, _>>()?;
        let under = self.under.as_deref().map(|id| session.target(actor, Some(id))).transpose()?;
        Ok(ReadyFilter { filter: Filter { labels, ..Filter::default() }, under })
    }

    fn claim(&self, caller: Caller<'_>, id: String) -> Result<Value, Failure> {
        let claim = ClaimBead { id, take_over: self.take_over, ..ClaimBead::default() };
        caller.mutate(self.confirmed(Call::one(Op::Claim(claim))))
    }

    fn confirmed(&self, call: Call) -> Call {
        if self.confirm { Call::Confirm { call: Box::new(call) } } else { call }
    }

    /// Returns the bead that would be chosen now.
    fn best(&self, caller: Caller<'_>) -> Result<Option<String>, Failure> {
        let mut filter = self.filter(caller)?;
        filter.filter.limit = Some(1);
        let ready = caller.session.query(caller.actor, Query::Ready(filter))?;
        Ok(ready[0]["id"].as_str().map(str::to_owned))
    }

    /// Claims the best bead, waiting in slices so that the client sees progress.
    fn choose(&self, caller: Caller<'_>) -> Result<Value, Failure> {
        let Caller { progress, is_cancelled, .. } = caller;
        let filter = self.filter(caller)?;
        let wait = self.wait_s.unwrap_or_default().min(MAX_WAIT_S);
        let mut waited = 0;
        loop {
            // With a request id the whole wait must be one request, so there is no progress in between.
            let slice = if caller.request_id.is_some() { wait } else { SLICE_S.min(wait - waited) };
            let op = Op::ClaimNext(Box::new(ClaimNext { filter: filter.clone(), ..ClaimNext::default() }));
            let call = self.confirmed(Call::one(op)).waiting(Some(Duration::from_secs(slice)));
            match caller.mutate(call) {
                Err(failure)
                    if failure.code == Code::NothingReady && waited + slice < wait && !is_cancelled() =>
                {
                    waited += slice;
                    progress(waited, wait);
                }
                answered => return answered,
            }
        }
    }
}

/// Returns the beads that the caller holds with an unexpired lease.
pub(super) fn held(caller: Caller<'_>) -> Result<Vec<Value>, Failure> {
    let now = Timestamp::text_of(RealWorld.now_ms());
    let mut held = caller.session.held(caller.actor)?;
    held.retain(|bead| text(bead, "assignee_expires") > now.as_str() && bead["offered"] != true);
    Ok(held)
}

/// Returns the answer when nothing is ready, which is not a failure.
fn nothing_ready(caller: Caller<'_>) -> Result<Lines, Failure> {
    let Caller { session, actor, .. } = caller;
    let mine = session.mine(actor)?;
    let status = session.query(actor, Query::Status)?;
    let (blocked, active) = (&status["summary"]["blocked_issues"], &status["summary"]["in_progress_issues"]);
    let command = match session.focus_among(actor, &mine) {
        Some(bead) => command("next", &json!({"id": text(bead, "id")})),
        None => command("next", &json!({"wait_s": 60})),
    };
    let state = format!("nothing ready | blocked {blocked}, in progress {active}, mine {}", mine.len());
    Ok(Lines::state(state).then(command).with_data(json!({"ready": 0, "held": ids(&mine)})))
}
