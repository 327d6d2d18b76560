//! Converts errors of `bb` for the other interfaces.

use beads_engine::failure::Failure;
use serde_json::{Value, json};

use super::error::{Code, Error, Reason};

/// Maps the error codes and reasons of `bb` to those of `bd`.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut details = error.details;
        if error.code == Code::MissingBeadId {
            details.insert("field".to_owned(), "bead".into());
        }
        if let Some(reason) = error.reason {
            details.insert("reason".to_owned(), json!(reason));
        }
        let code = match error.reason {
            Some(Reason::StoreBusy) => Code::Busy,
            Some(Reason::KeyReused) => Code::RequestIdReused,
            _ => error.code,
        };
        Self::new(code, error.message).with(Value::Object(details))
    }
}
