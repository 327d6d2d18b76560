//! Reads typed values from a foreign object. A value that does not fit is kept as it was, and replaced by one
//! that fits.

use serde_json::{Map, Value};

use super::Kept;
use super::time::{self, Time};
use crate::limits::{MAX_LABELS, MAX_TITLE_BYTES};
use crate::{Actor, Estimate, Label, Labels, Line, Priority, Stamp, Text, Timestamp, Title};

/// The fields of a line that are still to be read, and the originals to keep.
#[derive(Debug)]
pub(crate) struct Fields {
    rest: Map<String, Value>,
    kept: Kept,
    notices: Vec<String>,
}

impl Fields {
    pub fn new(rest: Map<String, Value>) -> Self {
        Self { rest, kept: Kept::new(), notices: Vec::new() }
    }

    pub fn rest(&self) -> &Map<String, Value> {
        &self.rest
    }

    /// Returns whether the line omits a priority of 0. Only the Go `bd` 0.30.7 to 0.33.1 omits the priority,
    /// and only if it is 0. Its lines always have both times.
    pub fn omits_zero_priority(&self) -> bool {
        let has_text = |name: &str| self.rest.get(name).is_some_and(Value::is_string);
        self.rest.get("priority").is_none_or(Value::is_null)
            && has_text("created_at")
            && has_text("updated_at")
    }

    /// Removes and returns a field. Null is the same as absent.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    /// Removes and returns the first field that is present.
    pub fn take_first(&mut self, names: &[&'static str]) -> Option<(&'static str, Value)> {
        names.iter().find_map(|name| Some((*name, self.take(name)?)))
    }

    /// Keeps the original of a field.
    pub fn keep(&mut self, name: &str, value: Value) {
        self.kept.insert(name.to_owned(), value);
    }

    /// Keeps the original of a field and reports why its value did not fit.
    pub fn keep_with_notice(&mut self, name: &str, value: Value, notice: &str) {
        self.notices.push(format!("{name} {notice}; the original is in metadata"));
        self.keep(name, value);
    }

    /// Returns the values to keep, including all fields that were not read, and the notices.
    pub fn finish(mut self) -> (Kept, Vec<String>) {
        let rest = std::mem::take(&mut self.rest);
        self.kept.extend(rest.into_iter().filter(|(_, value)| !value.is_null()));
        (self.kept, self.notices)
    }

    /// Reads a string. Any other value is kept.
    pub fn string(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.keep_with_notice(name, other, "is not text");
                None
            }
        }
    }

    /// Reads a text. NUL bytes are removed.
    pub fn text(&mut self, name: &str) -> Text {
        let Some(text) = self.string(name) else { return Text::default() };
        text.parse().unwrap_or_else(|_| {
            let clean = text.replace('\0', "");
            self.keep_with_notice(name, Value::String(text), "has NUL bytes");
            clean.parse().unwrap_or_default()
        })
    }

    /// Reads text on one line. A longer text is kept, and the field is empty.
    pub fn line(&mut self, name: &str) -> Line {
        let Some(text) = self.string(name) else { return Line::default() };
        text.parse().unwrap_or_else(|_| {
            self.keep_with_notice(name, Value::String(text), "does not fit on a line");
            Line::default()
        })
    }

    /// Reads the title. A long title is cut, line breaks become spaces, and a missing title becomes
    /// `fallback_title`.
    pub fn title(&mut self, fallback_title: &str) -> Title {
        let fallback = || fallback_title.parse().expect("a valid title");
        let Some(text) = self.string("title") else { return fallback() };
        text.parse().unwrap_or_else(|_| {
            let fitted = fitted(&text);
            self.keep_with_notice("title", Value::String(text), "does not fit");
            fitted.unwrap_or_else(fallback)
        })
    }

    pub fn actor(&mut self, name: &str) -> Option<Actor> {
        let text = self.string(name).filter(|text| !text.is_empty())?;
        match text.parse() {
            Ok(actor) => Some(actor),
            Err(_) => {
                self.keep_with_notice(name, Value::String(text), "is not a name");
                None
            }
        }
    }

    pub fn stamp(&mut self, name: &str) -> Option<Stamp> {
        let value = self.take(name)?;
        match time::read(&value) {
            Time::At(stamp) => Some(stamp),
            Time::Never => None,
            Time::Unreadable => {
                self.keep_with_notice(name, value, "is not a time");
                None
            }
        }
    }

    pub fn timestamp(&mut self, name: &str) -> Option<Timestamp> {
        self.stamp(name).map(Timestamp::from)
    }

    /// Reads the priority, clamped to 0 to 4.
    pub fn priority(&mut self) -> Priority {
        let Some(value) = self.take("priority") else { return Priority::default() };
        let exact = value.as_u64().and_then(|number| Priority::try_from(number).ok());
        exact.unwrap_or_else(|| {
            let nearest = match &value {
                Value::Number(number) if number.as_f64().is_some_and(|number| number < 0.0) => 0,
                Value::Number(_) => 4,
                other => {
                    let word = other.as_str().unwrap_or_default().parse::<Priority>().unwrap_or_default();
                    u64::from(word)
                }
            };
            self.keep_with_notice("priority", value, "is not 0 to 4");
            Priority::try_from(nearest).unwrap_or_default()
        })
    }

    pub fn estimate(&mut self) -> Option<Estimate> {
        let value = self.take("estimated_minutes")?;
        let estimate = value.as_u64().and_then(|minutes| Estimate::try_from(minutes).ok());
        if estimate.is_none() {
            self.keep_with_notice("estimated_minutes", value, "is out of range");
        }
        estimate
    }

    /// Reads a list of labels, or an observed-remove set `{"entries": {label: [dots]}}` of a legacy store.
    pub fn labels(&mut self) -> Labels {
        let Some(value) = self.take("labels") else { return Labels::default() };
        let words: Option<Vec<&str>> = match &value {
            Value::Array(words) => words.iter().map(Value::as_str).collect(),
            Value::Object(set) => set.get("entries").and_then(Value::as_object).map(|entries| {
                let present =
                    entries.iter().filter(|(_, dots)| dots.as_array().is_none_or(|d| !d.is_empty()));
                present.map(|(label, _)| label.as_str()).collect()
            }),
            _ => None,
        };
        let exact = words.as_ref().and_then(|words| {
            let labels: Result<Vec<Label>, _> = words.iter().map(|word| word.parse()).collect();
            Labels::try_from(labels.ok()?).ok()
        });
        if let Some(labels) = exact {
            return labels;
        }
        let words = words.unwrap_or_default();
        let fitting = words.iter().filter_map(|word| word.parse().ok()).take(MAX_LABELS);
        let labels = Labels::try_from(fitting.collect::<Vec<Label>>()).unwrap_or_default();
        self.keep_with_notice("labels", value, "has values that are not valid labels");
        labels
    }

    pub fn list(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            Some(Value::Array(values)) => values,
            Some(other) => {
                self.keep_with_notice(name, other, "is not a list");
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

fn fitted(text: &str) -> Option<Title> {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let end = (0..=line.len().min(MAX_TITLE_BYTES)).rev().find(|end| line.is_char_boundary(*end))?;
    line[..end].trim().parse().ok()
}
