use std::time::Duration;

use beads_core::Op;
use beads_core::op::{ClaimBead, ClaimNext};
use beads_core::query::{Filter, ReadyFilter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Open, briefed, text};
use crate::failure::Failure;
use crate::mcp::lines::{Lines, command};
use crate::request::{Call, Query};

/// Nobody is left without a sign of life longer than this.
const SLICE_S: u64 = 5;

/// A client that wants to wait longer asks again.
pub const MAX_WAIT_S: u64 = 600;

/// Claim the best ready bead, or the named one, and get its brief.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Next {
    id: Option<String>,
    label: Option<String>,
    /// Only below this bead
    under: Option<String>,
    /// Wait so long for work
    wait_s: Option<u64>,
}

impl Open for Next {
    fn open(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let Caller { session, actor, .. } = caller;
        let claimed = match &self.id {
            Some(_) if self.label.is_some() || self.under.is_some() || self.wait_s.is_some() => {
                return Err(Failure::usage("label, under and wait_s choose a bead; id names one"));
            }
            Some(id) => {
                let id = session.target(actor, Some(id))?;
                let claim = ClaimBead { id, ..ClaimBead::default() };
                session.ask(actor, Call::one(Op::Claim(claim)))?
            }
            None => match self.choose(caller) {
                Err(failure) if failure.code == "nothing_ready" => return nothing(caller),
                claimed => claimed?,
            },
        };
        session.set_focus(claimed["id"].as_str());
        Ok(briefed(&claimed))
    }
}

impl Next {
    /// Waits in slices, so that the client hears of it.
    fn choose(&self, caller: Caller<'_>) -> Result<Value, Failure> {
        let Caller { session, actor, progress } = caller;
        let labels = self.label.iter().map(|label| label.parse()).collect::<Result<_, _>>()?;
        let under = self.under.as_deref().map(|id| session.target(actor, Some(id))).transpose()?;
        let filter = ReadyFilter { filter: Filter { labels, ..Filter::default() }, under };
        let wait = self.wait_s.unwrap_or_default().min(MAX_WAIT_S);
        let mut waited = 0;
        loop {
            let slice = SLICE_S.min(wait - waited);
            let op = Op::ClaimNext(Box::new(ClaimNext { filter: filter.clone(), lease_ms: None }));
            let call = Call::one(op).waiting(Some(Duration::from_secs(slice)));
            match session.ask(actor, call) {
                Err(failure) if failure.code == "nothing_ready" && waited + slice < wait => {
                    waited += slice;
                    progress(waited, wait);
                }
                answered => return answered,
            }
        }
    }
}

/// Nothing to do is not a failure.
fn nothing(caller: Caller<'_>) -> Result<Lines, Failure> {
    let Caller { session, actor, .. } = caller;
    let mine = session.mine(actor)?;
    let status = session.query(actor, Query::Status)?;
    let (blocked, active) = (&status["summary"]["blocked_issues"], &status["summary"]["in_progress_issues"]);
    let command = match session.focus_among(&mine) {
        Some(bead) => command("next", &json!({"id": text(bead, "id")})),
        None => command("next", &json!({"wait_s": 60})),
    };
    Ok(Lines::state(format!("nothing ready | blocked {blocked}, in progress {active}, mine {}", mine.len()))
        .then(command))
}
