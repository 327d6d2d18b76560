use beads_core::Event;

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, EventAnswer, EventsAnswer};
use crate::request::EventsQuery;

/// The maximum number of events in one answer. A client gets more with the returned cursor.
const MAX_EVENTS: usize = 1_000;

impl Service {
    /// Returns the events after a cursor and the next cursor. Without a cursor, returns only the newest one.
    /// Unknown ids are an error in both cases.
    pub(super) fn events(&self, query: &EventsQuery) -> Result<Answer, Failure> {
        let catalog = self.replica.catalog();
        let full = |name: &String| match catalog.resolve_any(name) {
            Ok(lineage) => Ok(catalog.id_of(lineage).clone()),
            Err(error) => Err(Failure::from(error)),
        };
        let ids = query.ids.iter().map(full).collect::<Result<Vec<_>, _>>()?;
        let Some(since) = &query.since else {
            let cursor = self.replica.cursor().to_string();
            return Ok(Answer::Events(EventsAnswer { events: Vec::new(), cursor, more: false }));
        };
        let wanted = |event: &Event| ids.is_empty() || event.id.as_ref().is_some_and(|id| ids.contains(id));
        let limit = query.limit.unwrap_or(MAX_EVENTS).clamp(1, MAX_EVENTS);
        let batch = self.replica.events_since(since, limit, wanted)?;
        let events = batch.events.into_iter();
        Ok(Answer::Events(EventsAnswer {
            events: events
                .map(|(cursor, logged)| EventAnswer {
                    cursor: cursor.to_string(),
                    position: logged.position,
                    event: logged.event,
                })
                .collect(),
            cursor: batch.cursor.to_string(),
            more: batch.more,
        }))
    }
}
