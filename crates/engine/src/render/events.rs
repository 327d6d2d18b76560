//! Events: one line each, for people and for programs.

use std::fmt::Write;

use beads_core::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::style::Style;
use crate::escape::escape;
use crate::request::{Format, Output};

/// Some events, and the cursor behind them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventsAnswer {
    pub events: Vec<EventAnswer>,
    pub cursor: String,
    /// There may be more behind the cursor already.
    pub more: bool,
}

/// One event with the cursor right behind it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventAnswer {
    pub cursor: String,
    /// The place of the mutation in the order of all mutations here.
    pub position: u64,
    #[serde(flatten)]
    pub event: Event,
}

/// One line per event: JSON without line breaks, or text.
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

fn text(out: &mut String, event: &Event, style: Style) {
    let _ = write!(out, "{} {:<9}", style.faint(&event.at), event.kind.as_str());
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
