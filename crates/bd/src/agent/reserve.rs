//! `bb agent reserve`

use clap::Args;
use serde::Deserialize;
use serde_json::Map;

use super::agent_id::AgentId;
use super::bead_id::bead_id;
use super::bounds::{TTL, TTL_DEFAULT};
use super::error::{Code, Error, Reason, Result};
use super::moment::Moment;
use super::reservation::{Reservation, ReservationState};
use super::scope::Scope;
use super::store::Store;

/// Reserve paths for an agent
///
/// The scope is a path or pattern relative to the root of the repository. A path covers everything below it.
/// Reserving the same scope again renews it.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserve {
    /// Holder
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub agent: String,
    /// Path or pattern (`*` `?` `[a-z]` `**` `{a,b}`), for example 'src/**'
    #[arg(long)]
    pub scope: String,
    /// Bead the reservation is for (required)
    #[arg(long, value_name = "BEAD_ID")]
    #[serde(default)]
    pub bead: Option<String>,
    /// Lifetime in minutes, 5 to 1440 [default: 120]
    #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
    #[serde(default)]
    pub ttl: Option<i64>,
    /// Take over reservations that have expired
    #[arg(long)]
    #[serde(default)]
    pub takeover_stale: bool,
    /// Conflict only with an equal scope, not with an overlapping one
    #[arg(long)]
    #[serde(default)]
    pub exact: bool,
}

pub fn reserve(store: &Store, input: &Reserve) -> Result<Reservation> {
    let id = AgentId::parse(&input.agent)?;
    let scope = Scope::parse(&store.root().scope_text(&input.scope))?;
    let bead_id = bead_id(input.bead.as_deref())?;
    let ttl = input.ttl.unwrap_or(TTL_DEFAULT);
    if !TTL.contains(&ttl) {
        let message = format!("TTL must be {} to {} minutes.", TTL.start(), TTL.end());
        return Err(Error::invalid(Reason::InvalidTtl, message));
    }

    let session = store.write()?;
    session.mark_seen(&id)?;
    let now = session.now;
    let existing = session.reservations()?;
    let (colliding, mut active): (Vec<_>, Vec<_>) =
        existing.into_iter().partition(|held| collides(held, &scope, &id, input.exact));
    refuse(&colliding, &scope, &id, now, input.takeover_stale)?;

    // What still collides is either expired, and taken over, or the caller's own lease on this scope.
    let expires_at = now.plus_minutes(ttl);
    let (own, stale): (Vec<_>, Vec<_>) = colliding.into_iter().partition(|held| !held.is_expired(now));
    let mut ended: Vec<Reservation> = stale.into_iter().map(Reservation::into_expired).collect();
    let mut renewed = None;
    for held in own {
        if held.bead_id == bead_id && renewed.is_none() {
            renewed = Some(Reservation { expires_at, ..held });
        } else {
            ended.push(held.into_released(now));
        }
    }
    let reservation = match renewed {
        Some(renewed) => renewed,
        None => Reservation {
            reservation_id: session.mint_reservation_id(&active)?,
            scope: scope.as_str().to_owned(),
            agent_id: id,
            bead_id,
            state: ReservationState::Active,
            created_at: now,
            expires_at,
            released_at: None,
            unknown_fields: Map::new(),
        },
    };
    active.push(reservation.clone());
    session.set_reservations(active, ended)?;
    Ok(reservation)
}

/// Returns whether a reservation collides with a scope. An equal scope always does, an overlapping one only
/// if another agent holds it.
fn collides(held: &Reservation, scope: &Scope, id: &AgentId, exact: bool) -> bool {
    let other = Scope::stored(&held.scope);
    other.as_str() == scope.as_str() || (!exact && held.agent_id != *id && other.overlaps(scope))
}

fn refuse(found: &[Reservation], scope: &Scope, id: &AgentId, now: Moment, takeover: bool) -> Result<()> {
    // Report an equal scope first, because that is what the caller asked for.
    let pick = |test: &dyn Fn(&Reservation) -> bool| {
        let equal = found.iter().find(|held| held.scope == scope.as_str() && test(held));
        equal.or_else(|| found.iter().find(|held| test(held))).cloned()
    };
    if let Some(held) = pick(&|held| !held.is_expired(now) && held.agent_id != *id) {
        let message = format!(
            "Scope '{scope}' is reserved by {} (scope '{}', bead {}) until {}. Nothing was changed.",
            held.agent_id,
            held.scope,
            held.bead_id,
            held.expires_at,
            scope = scope.as_str(),
        );
        return Err(about(&held, scope, Error::new(Code::ReservationConflict, message)));
    }
    if takeover {
        return Ok(());
    }
    if let Some(held) = pick(&|held| held.is_expired(now)) {
        let message = format!(
            "The reservation of '{}' by {} expired at {}. Re-run with --takeover-stale to take it over.",
            held.scope, held.agent_id, held.expires_at,
        );
        return Err(about(&held, scope, Error::new(Code::ReservationStaleFound, message)));
    }
    Ok(())
}

fn about(held: &Reservation, scope: &Scope, error: Error) -> Error {
    error
        .with("requested_scope", scope.as_str())
        .with("scope", held.scope.as_str())
        .with("holder", held.agent_id.as_str())
        .with("bead_id", held.bead_id.as_str())
        .with("reservation_id", held.reservation_id.as_str())
        .with("expires_at", held.expires_at.to_string())
}
