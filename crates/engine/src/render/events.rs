//! Renders events, one line each, for people and for programs.

use std::fmt::Write;

use beads_core::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::style::Style;
use crate::escape::escape;
use crate::request::{Format, Output};

/// Some events, and the cursor after them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventsAnswer {
    /// The events, oldest first.
    pub events: Vec<EventAnswer>,
    /// The cursor after the last event.
    pub cursor: String,
    /// Whether more events may already follow the cursor.
    pub more: bool,
}

/// One event and the cursor after it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventAnswer {
    /// The cursor after this event.
    pub cursor: String,
    /// The position of the mutation in the local order of mutations.
    pub position: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// Renders one line per event, as JSON without line breaks or as text.
pub fn events(events: &[EventAnswer], output: &Output) -> String {
    let style = Style::new(output);
    let mut out = String::new();
    for event in events {
        if output.format == Format::Text {
            text(&mut out, &event.event, style);
        } else {
            out.push_str(&crate::escape::escape_json(serde_json::to_string(event).unwrap_or_default()));
            out.push('\n');
        }
    }
    out
}

/// Writes one line per event as text.
pub(super) fn lines(out: &mut String, events: &[Event], style: Style) {
    events.iter().for_each(|event| text(out, event, style));
}

fn text(out: &mut String, event: &Event, style: Style) {
    let _ = write!(out, "{} {:<9}", style.faint(&style.time(&event.at, Style::moment)), event.kind.as_str());
    if let Some(id) = &event.id {
        let _ = write!(out, " {}", style.id(id.as_str()));
    }
    if let Some(title) = &event.title {
        let _ = write!(out, " {}", escape(title.as_str()));
    }
    if !event.fields.is_empty() {
        let _ = write!(out, " [{}]", event.fields.join(", "));
    }
    if let Some(by) = &event.by {
        let _ = write!(out, " {}", style.faint(&format!("by {}", escape(by.as_str()))));
    }
    if let Some(won_by) = &event.won_by {
        let _ = write!(out, " lost to {}", escape(won_by.as_str()));
    }
    if let Some(text) = &event.text {
        let first = text.lines().next().unwrap_or_default();
        let _ = write!(out, ": {}", escape(first));
    }
    out.push('\n');
}
