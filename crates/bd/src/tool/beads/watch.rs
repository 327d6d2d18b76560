use std::time::Duration;

use beads_core::schema::BeadRef;
use beads_engine::failure::Failure;
use beads_engine::render::EventsAnswer;
use beads_engine::request::{Call, EventsQuery, Query};
use beads_store::Cursor;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::tool::{Definition, Items, Question, field, outcome};

/// List events since a cursor, and return the next cursor
///
/// Without `since` it returns only the current cursor. With `timeout_ms` it waits up to that long for the first event. Every
/// event has its own cursor, which stays valid across restarts.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Watch {
    /// Events after this cursor; 0 for the oldest that is kept
    #[serde(default)]
    #[schemars(with = "field::Cursor")]
    since: Option<Cursor>,
    /// Only events about these beads
    #[serde(default)]
    #[schemars(with = "Vec<BeadRef>", length(max = 1000))]
    ids: Vec<String>,
    /// Maximum number of events
    #[serde(default = "default_limit")]
    #[schemars(with = "field::EventLimit")]
    limit: usize,
    /// How long to wait for the first event, in milliseconds; 0 answers immediately
    #[serde(default)]
    #[schemars(with = "field::TimeoutMs")]
    timeout_ms: u64,
}

fn default_limit() -> usize {
    field::MAX_EVENTS
}

impl Definition for Watch {
    const NAME: &'static str = "beads.watch";
    const EXAMPLE: &'static str = r#"{"since":"0","limit":100}"#;
    type Output = EventsAnswer;
}

impl Question for Watch {
    const STREAM: Option<Items> = Some(events);

    fn call(self) -> Result<Call, Failure> {
        // Without a cursor there is nothing to wait for.
        let wait = self.since.as_ref().map(|_| Duration::from_millis(self.timeout_ms));
        let query = EventsQuery { since: self.since, ids: self.ids, limit: Some(self.limit) };
        Ok(Call::query(Query::Events(query)).waiting(wait))
    }
}

fn events(result: &RawValue) -> Result<Vec<Box<RawValue>>, Failure> {
    #[derive(Deserialize)]
    struct Events {
        events: Vec<Box<RawValue>>,
    }
    Ok(outcome::read::<Events>(result)?.events)
}
