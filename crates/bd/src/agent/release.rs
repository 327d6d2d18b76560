//! `bb agent release`

use clap::Args;
use serde::Deserialize;

use super::agent_id::AgentId;
use super::error::{Code, Error, Reason, Result};
use super::reservation::Reservation;
use super::scope::Scope;
use super::store::Store;

/// Release a reserved scope
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Holder
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub agent: String,
    /// Scope as it was reserved
    #[arg(long)]
    pub scope: String,
}

pub fn release(store: &Store, input: &Release) -> Result<Reservation> {
    let id = AgentId::parse(&input.agent)?;
    let scope = Scope::parse(&store.root().scope_text(&input.scope))?;
    let session = store.write()?;
    session.mark_seen(&id)?;
    let mut active = session.reservations()?;
    let matches = |held: &Reservation| Scope::stored(&held.scope).as_str() == scope.as_str();
    let Some(at) = active.iter().position(matches) else {
        let message = format!("No agent has reserved '{}'.", scope.as_str());
        return Err(Error::new(Code::ReservationNotFound, message).with("scope", scope.as_str()));
    };
    let held = active.remove(at);
    if held.is_expired(session.now) {
        // Keep it in place, so that the next agent that reserves this scope learns about it.
        let message = format!(
            "The reservation of '{}' by {} expired at {}.",
            held.scope, held.agent_id, held.expires_at
        );
        return Err(Error::new(Code::ReservationNotFound, message)
            .with_reason(Reason::ReservationExpired)
            .with("holder", held.agent_id.as_str()));
    }
    if held.agent_id != id {
        let message =
            format!("'{}' is reserved by {}; only the holder may release it.", held.scope, held.agent_id);
        return Err(Error::new(Code::ReleaseForbidden, message).with("holder", held.agent_id.as_str()));
    }
    let released = held.into_released(session.now);
    session.set_reservations(active, vec![released.clone()])?;
    Ok(released)
}
