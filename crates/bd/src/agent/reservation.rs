//! A lease on a scope of paths: `reservations/active.json` and `reservations/history.jsonl` (contract §7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent_id::AgentId;
use super::moment::Moment;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reservation {
    pub reservation_id: String,
    pub scope: String,
    pub agent_id: AgentId,
    pub bead_id: String,
    pub state: ReservationState,
    pub created_at: Moment,
    pub expires_at: Moment,
    pub released_at: Option<Moment>,
    /// Fields of a later version, preserved when the record is rewritten.
    #[serde(flatten)]
    pub unknown_fields: Map<String, Value>,
}

impl Reservation {
    /// Returns whether the reservation has expired; it no longer holds at `expires_at` itself.
    pub fn is_expired(&self, now: Moment) -> bool {
        self.expires_at <= now
    }

    /// Returns the same reservation, released.
    pub fn into_released(mut self, now: Moment) -> Reservation {
        self.state = ReservationState::Released;
        self.released_at = Some(now);
        self
    }

    /// Returns the same reservation, expired and taken over.
    pub fn into_expired(mut self) -> Reservation {
        self.state = ReservationState::Expired;
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    Active,
    Released,
    Expired,
}

impl ReservationState {
    pub fn as_str(self) -> &'static str {
        match self {
            ReservationState::Active => "active",
            ReservationState::Released => "released",
            ReservationState::Expired => "expired",
        }
    }
}

/// The content of `active.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ActiveFile {
    pub reservations: Vec<Reservation>,
    #[serde(flatten)]
    pub unknown_fields: Map<String, Value>,
}
