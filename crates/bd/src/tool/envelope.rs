//! The JSON documents that tools print.

use beads_engine::daemon::VERSION;
use beads_engine::escape::escape_json;
use beads_engine::failure::{Failure, exit};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::outcome::{Body, Outcome};
use crate::agent::moment::Moment;
use beads_core::{Code, ToolCode};

/// Items per chunk: enough to make the overhead of the envelope negligible, few enough to read at once.
const CHUNK_ITEMS: usize = 100;

#[derive(Debug, Serialize)]
struct Success<'a> {
    ok: bool,
    result: &'a RawValue,
    metadata: &'a Map<String, Value>,
    timestamp: String,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct Chunk<'a> {
    ok: bool,
    stream: bool,
    chunk: usize,
    data: &'a [Box<RawValue>],
    #[serde(rename = "final", skip_serializing_if = "std::ops::Not::not")]
    last: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
    timestamp: String,
    version: &'static str,
}

/// A failure. `field` and `expected` are at the top level, as the contract requires.
#[derive(Debug, Serialize)]
struct Refusal<'a> {
    ok: bool,
    error: ToolCode,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Value>,
    details: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct Batch<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ToolCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    batch: bool,
    results: Vec<Item<'a>>,
    metadata: &'a Map<String, Value>,
    timestamp: String,
    version: &'static str,
}

/// The result of one item of a batch.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Item<'a> {
    Done { ok: bool, result: &'a RawValue },
    Failed(FailedItem<'a>),
}

#[derive(Debug, Serialize)]
pub struct FailedItem<'a>(Refusal<'a>);

impl<'a> Item<'a> {
    pub fn new(result: &'a Result<Box<RawValue>, Failure>) -> Self {
        match result {
            Ok(result) => Self::Done { ok: true, result },
            Err(failure) => Self::Failed(FailedItem(refusal(failure))),
        }
    }
}

/// Returns the output lines and the exit code.
pub fn lines(outcome: &Result<Outcome, Failure>) -> (Vec<u8>, u8) {
    let (timestamp, version) = (Moment::now().to_string(), VERSION);
    match outcome {
        Err(failure) => failed(failure),
        Ok(Outcome { body: Body::Result(result), metadata }) => {
            (line(&Success { ok: true, result, metadata, timestamp, version }), exit::OK)
        }
        Ok(Outcome { body: Body::Stream(items), metadata }) => (chunks(items, metadata), exit::OK),
        Ok(Outcome { body: Body::Batch(results), metadata }) => {
            let failed = results.iter().filter_map(|result| result.as_ref().err());
            let first = failed.clone().next().map(Failure::tool);
            let message = first.map(|_| format!("{} of {} items failed", failed.count(), results.len()));
            let results = results.iter().map(Item::new).collect();
            let ok = first.is_none();
            let batch =
                Batch { ok, error: first, message, batch: true, results, metadata, timestamp, version };
            (line(&batch), first.map_or(exit::OK, ToolCode::exit))
        }
    }
}

fn failed(failure: &Failure) -> (Vec<u8>, u8) {
    #[derive(Debug, Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        refusal: Refusal<'a>,
        timestamp: String,
        version: &'static str,
    }
    let document =
        Document { refusal: refusal(failure), timestamp: Moment::now().to_string(), version: VERSION };
    (line(&document), failure.tool_exit())
}

fn refusal(failure: &Failure) -> Refusal<'_> {
    let mut details = match &failure.details {
        Value::Object(details) => details.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("more".to_owned(), other.clone())]),
    };
    let (field, expected) = (details.remove("field"), details.remove("expected"));
    details.insert("code".to_owned(), failure.code.as_str().into());
    if let Some(hint) = failure.hint() {
        details.insert("hint".to_owned(), hint.into());
    }
    Refusal { ok: false, error: failure.tool(), message: &failure.message, field, expected, details }
}

fn chunks(items: &[Box<RawValue>], metadata: &Map<String, Value>) -> Vec<u8> {
    let mut pieces: Vec<&[Box<RawValue>]> = items.chunks(CHUNK_ITEMS).collect();
    if pieces.is_empty() {
        pieces.push(&[]);
    }
    let count = pieces.len();
    let document = |(index, data)| {
        let last = index + 1 == count;
        line(&Chunk {
            ok: true,
            stream: true,
            chunk: index + 1,
            data,
            last,
            metadata: last.then_some(metadata),
            timestamp: Moment::now().to_string(),
            version: VERSION,
        })
    };
    pieces.into_iter().enumerate().flat_map(document).collect()
}

pub fn line(document: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_string(document).unwrap_or_else(|error| {
        // Cannot happen: documents consist of strings, numbers and parsed JSON. The fallback is valid JSON
        // too.
        let (code, message) = (Code::InternalError, error.to_string());
        format!(r#"{{"ok":false,"error":"{code}","message":{message:?}}}"#)
    });
    line.push('\n');
    escape_json(line).into_bytes()
}
