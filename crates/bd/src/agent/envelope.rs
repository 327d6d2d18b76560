//! The shape of every `--json` answer (contract §4).

use beads_engine::escape::escape_json;
use serde::Serialize;

use super::error::Error;

/// The JSON envelope `{ok, command, data, error}`.
#[derive(Debug, Serialize)]
pub struct Envelope<'a, T> {
    ok: bool,
    command: &'a str,
    data: Option<T>,
    error: Option<&'a Error>,
}

impl<'a, T: Serialize> Envelope<'a, T> {
    pub fn new(command: &'a str, outcome: Result<T, &'a Error>) -> Envelope<'a, T> {
        let ok = outcome.is_ok();
        let (data, error) = match outcome {
            Ok(data) => (Some(data), None),
            Err(error) => (None, Some(error)),
        };
        Envelope { ok, command, data, error }
    }

    /// Formats the envelope with an indent of two spaces and a final line feed.
    pub fn to_text(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| escape_json(text + "\n"))
    }
}
