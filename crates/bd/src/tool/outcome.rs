use beads_engine::failure::Failure;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// The outcome of a tool call.
#[derive(Debug)]
pub struct Outcome {
    pub body: Body,
    /// Metadata of the answer: `applied`, `position`, `count`.
    pub metadata: Map<String, Value>,
}

/// Splits an answer into items for streaming.
pub type Items = fn(&RawValue) -> Result<Vec<Box<RawValue>>, Failure>;

#[derive(Debug)]
pub enum Body {
    Result(Box<RawValue>),
    /// The items of an answer that is streamed.
    Stream(Vec<Box<RawValue>>),
    /// The result of each item of a batch, in order.
    Batch(Vec<Result<Box<RawValue>, Failure>>),
}

impl Outcome {
    pub fn new(result: &impl serde::Serialize) -> Result<Self, Failure> {
        Ok(Self::of(raw(result)?))
    }

    pub fn of(result: Box<RawValue>) -> Self {
        Self { body: Body::Result(result), metadata: Map::new() }
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the same answer as a stream of items.
    pub fn streamed(self, items: Items) -> Result<Self, Failure> {
        let Body::Result(result) = &self.body else { return Ok(self) };
        let items = items(result)?;
        Ok(Self { body: Body::Stream(items), ..self })
    }

    /// Returns the result of a call that is not a batch.
    pub fn into_result(self) -> Result<Box<RawValue>, Failure> {
        match self.body {
            Body::Result(result) => Ok(result),
            Body::Stream(items) => raw(&items),
            Body::Batch(_) => Err(Failure::usage("a batch cannot contain a batch")),
        }
    }
}

/// Splits a list into its elements without parsing them.
pub fn items(list: &RawValue) -> Result<Vec<Box<RawValue>>, Failure> {
    read(list)
}

/// Parses an answer of the store.
pub fn read<'a, T: serde::Deserialize<'a>>(result: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(result.get()).map_err(Failure::internal)
}

pub fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, Failure> {
    to_raw_value(value).map_err(Failure::internal)
}
