//! `bb agent guard`

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agent_id::AgentId;
use super::error::{Code, Error, Reason, Result};
use super::reservation::Reservation;
use super::scope::Scope;
use super::store::Store;

/// Exit code when the answer is unknown. Distinct from "denied" (1) and a wrong command line (2).
pub const EXIT_UNKNOWN: u8 = 3;
/// Exit code of a denial with `--hook`. Agent and editor hooks read 2 as "blocked" and other codes as "the
/// hook is broken, continue"; git reads every code but 0 as a denial.
pub const EXIT_HOOK_DENY: u8 = 2;

/// Check whether an agent may edit paths
///
/// Paths are files on this machine, relative to the current directory, taken literally.
///
/// Exit codes: 0 allowed; 1 denied, because another agent has reserved one of them (or the agent is not
/// registered); 2 wrong command line; 3 unknown, because the store cannot be read.
///
/// With --hook: 0 allowed; 2 denied. If the answer is unknown (store unreadable, no agent named, agent not
/// registered), it warns on stderr and allows, so that a broken tool does not stop all work.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Agent that wants to edit
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    #[serde(default)]
    pub agent: Option<String>,
    /// Exit codes for a pre-commit, editor or agent hook; fails open
    #[arg(long)]
    #[serde(default)]
    pub hook: bool,
    /// Files or directories
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// The answer, unless it is a denial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    pub decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub paths: Vec<String>,
    /// Why the answer is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Error>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Unknown,
}

/// Checks paths against the reservations of other agents. A denial is the error `RESERVATION_CONFLICT`; with
/// `--hook` every other failure becomes [`Decision::Unknown`].
pub fn guard(store: &Store, input: &Guard) -> Result<Verdict> {
    match judge(store, input) {
        Err(failed) if input.hook && failed.code != Code::ReservationConflict => Ok(unknown(input, failed)),
        judged => judged,
    }
}

/// Returns the verdict for a hook when the check failed.
pub fn unknown(input: &Guard, failed: Error) -> Verdict {
    let verdict = verdict(input, input.agent.as_deref());
    Verdict { decision: Decision::Unknown, warning: Some(failed), ..verdict }
}

fn verdict(input: &Guard, agent: Option<&str>) -> Verdict {
    Verdict {
        decision: Decision::Allow,
        agent_id: agent.map(str::to_owned),
        paths: input.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        warning: None,
    }
}

fn judge(store: &Store, input: &Guard) -> Result<Verdict> {
    let Some(name) = input.agent.as_deref().filter(|name| !name.trim().is_empty()) else {
        return Err(Error::invalid(Reason::InvalidAgentId, "No agent given. Use --agent or BB_AGENT."));
    };
    let id = AgentId::parse(name)?;
    if input.paths.is_empty() && !input.hook {
        return Err(Error::invalid(Reason::InvalidPath, "No paths given. Use: bb agent guard PATH…"));
    }
    let session = store.read()?;
    session.mark_seen(&id)?;
    let others = session.reservations()?.into_iter();
    let others: Vec<(Scope, Reservation)> = others
        .filter(|held| held.agent_id != id && !held.is_expired(session.now))
        .map(|held| (Scope::stored(&held.scope), held))
        .collect();

    let mut taken = Vec::new();
    for (path, names) in input.paths.iter().zip(store.root().inside(&input.paths)) {
        let wanted: Vec<Scope> = names.iter().map(|name| Scope::path(name)).collect();
        let held = others.iter().find(|(scope, _)| wanted.iter().any(|path| path.overlaps(scope)));
        taken.extend(held.map(|(_, held)| (path.to_string_lossy().into_owned(), held)));
    }
    if taken.is_empty() { Ok(verdict(input, Some(id.as_str()))) } else { Err(denied(&taken)) }
}

fn denied(taken: &[(String, &Reservation)]) -> Error {
    let one = |(path, held): &(String, &Reservation)| {
        let Reservation { agent_id, scope, bead_id, expires_at, .. } = held;
        format!("{path} is reserved by {agent_id} (scope '{scope}', bead {bead_id}) until {expires_at}")
    };
    let message = taken.iter().map(one).collect::<Vec<_>>().join("; ");
    let conflicts: Vec<_> = taken
        .iter()
        .map(|(path, held)| {
            json!({"path": path, "holder": held.agent_id, "scope": held.scope, "bead_id": held.bead_id,
                "reservation_id": held.reservation_id, "expires_at": held.expires_at})
        })
        .collect();
    let first = taken.first().map_or("", |(_, held)| held.agent_id.as_str());
    Error::new(Code::ReservationConflict, message).with("holder", first).with("conflicts", conflicts)
}
