//! Renders events, one line each, for people and for programs.

use std::fmt::Write;

use beads_core::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthStr;

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
    let time = style.time(&event.at, Style::moment);
    let kind = format!("{:<9}", event.kind.as_str());
    let id = event.id.as_ref().map(|id| format!(" {}", style.id(id.as_str()))).unwrap_or_default();
    let fields = match event.fields.is_empty() {
        true => String::new(),
        false => format!(" [{}]", event.fields.join(", ")),
    };
    let by = event.by.as_ref().map(|by| format!("by {}", escape(by.as_str())));
    let won_by =
        event.won_by.as_ref().map(|by| format!(" lost to {}", escape(by.as_str()))).unwrap_or_default();
    let title = event.title.as_ref().map(|title| escape(title.as_str())).unwrap_or_default();
    let text = escape(event.text.as_deref().and_then(|text| text.lines().next()).unwrap_or_default());
    let used = [&time, &kind, &fields, by.as_deref().unwrap_or_default(), &won_by];
    let used = used.iter().map(|part| part.width()).sum::<usize>()
        + event.id.as_ref().map_or(0, |id| id.as_str().len())
        + 4;
    let (title, text) = style.fit_both(&title, &text, used);
    let mut line = format!("{} {kind}{id}", style.faint(&time));
    if !title.is_empty() {
        let _ = write!(line, " {title}");
    }
    line.push_str(&fields);
    if let Some(by) = by {
        let _ = write!(line, " {}", style.faint(&by));
    }
    line.push_str(&won_by);
    if !text.is_empty() {
        // Without a bead, the text is all that the event says.
        let separator = if event.id.is_some() { ": " } else { " " };
        let _ = write!(line, "{separator}{text}");
    }
    // Long names of actors and many fields may still not fit.
    let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
}
