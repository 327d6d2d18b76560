use beads_engine::failure::Failure;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// What a tool did.
#[derive(Debug)]
pub struct Outcome {
    pub body: Body,
    /// Facts about the answer: `applied`, `position`, `count`.
    pub metadata: Map<String, Value>,
}

/// Takes an answer apart into what is given in chunks.
pub type Items = fn(&RawValue) -> Result<Vec<Box<RawValue>>, Failure>;

#[derive(Debug)]
pub enum Body {
    Result(Box<RawValue>),
    /// The items of an answer, to be given in chunks.
    Stream(Vec<Box<RawValue>>),
    /// What became of each item of a batch, in order.
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

    /// The same answer, item by item.
    pub fn streamed(self, items: Items) -> Result<Self, Failure> {
        let Body::Result(result) = &self.body else { return Ok(self) };
        let items = items(result)?;
        Ok(Self { body: Body::Stream(items), ..self })
    }

    /// The result of a call that was not a batch.
    pub fn into_result(self) -> Result<Box<RawValue>, Failure> {
        match self.body {
            Body::Result(result) => Ok(result),
            Body::Stream(items) => raw(&items),
            Body::Batch(_) => Err(Failure::usage("a batch within a batch")),
        }
    }
}

/// The elements of a list, unread.
pub fn items(list: &RawValue) -> Result<Vec<Box<RawValue>>, Failure> {
    read(list)
}

/// An answer of the store, as far as a tool needs to know it.
pub fn read<'a, T: serde::Deserialize<'a>>(result: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(result.get()).map_err(Failure::internal)
}

pub fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, Failure> {
    to_raw_value(value).map_err(Failure::internal)
}
