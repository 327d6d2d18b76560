use std::time::Duration;

use beads_core::Op;
use beads_core::op::{ClaimBead, ClaimNext};
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caller, Expected, Open, briefed, meant, text};
use crate::mcp::lines::{Lines, command};

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
    expected_target_id: Option<String>,
    #[serde(default)]
    strict_targeting: bool,
}

impl Open for Next {
    fn open(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let Caller { session, .. } = caller;
        let expected =
            Expected::new(self.expected_target_id.clone().map(Value::from), self.strict_targeting)?;
        let claimed = match &self.id {
            Some(_) if self.label.is_some() || self.under.is_some() || self.wait_s.is_some() => {
                return Err(Failure::usage("label, under and wait_s choose a bead; id names one"));
            }
            Some(id) => {
                let id = meant(caller, Some(id), &expected)?;
                claim(caller, id)?
            }
            None if expected.is_some() => match self.best(caller)? {
                None => return nothing(caller),
                // Whoever is expected is the one to claim, whatever becomes the best in the meantime.
                Some(id) => {
                    expected.check(&id, caller)?;
                    claim(caller, id)?
                }
            },
            None => match self.choose(caller) {
                Err(failure) if failure.code == Code::NothingReady => return nothing(caller),
                claimed => claimed?,
            },
        };
        session.set_focus(claimed["id"].as_str());
        Ok(briefed(&claimed))
    }
}

impl Next {
    fn filter(&self, caller: Caller<'_>) -> Result<ReadyFilter, Failure> {
        let Caller { session, actor, .. } = caller;
        let labels = self.label.iter().map(|label| label.parse()).collect::<Result<_, _>>()?;
        let under = self.under.as_deref().map(|id| session.target(actor, Some(id))).transpose()?;
        Ok(ReadyFilter { filter: Filter { labels, ..Filter::default() }, under })
    }

    /// The bead that would be chosen now.
    fn best(&self, caller: Caller<'_>) -> Result<Option<String>, Failure> {
        let mut filter = self.filter(caller)?;
        filter.filter.limit = Some(1);
        let ready = caller.session.query(caller.actor, Query::Ready(filter))?;
        Ok(ready[0]["id"].as_str().map(str::to_owned))
    }

    /// Waits in slices, so that the client hears of it.
    fn choose(&self, caller: Caller<'_>) -> Result<Value, Failure> {
        let Caller { session, actor, progress, given_up, .. } = caller;
        let filter = self.filter(caller)?;
        let wait = self.wait_s.unwrap_or_default().min(MAX_WAIT_S);
        let mut waited = 0;
        loop {
            let slice = SLICE_S.min(wait - waited);
            let op = Op::ClaimNext(Box::new(ClaimNext { filter: filter.clone(), lease_ms: None }));
            let call = Call::one(op).waiting(Some(Duration::from_secs(slice)));
            match session.ask(actor, call) {
                Err(failure)
                    if failure.code == Code::NothingReady && waited + slice < wait && !given_up() =>
                {
                    waited += slice;
                    progress(waited, wait);
                }
                answered => return answered,
            }
        }
    }
}

fn claim(caller: Caller<'_>, id: String) -> Result<Value, Failure> {
    let claim = ClaimBead { id, ..ClaimBead::default() };
    caller.session.ask(caller.actor, Call::one(Op::Claim(claim)))
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
