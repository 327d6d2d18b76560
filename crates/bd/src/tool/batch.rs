//! Many inputs in one call: `{"batch": true, "items": [...]}`.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::call_fields::{self, CallFields};
use super::{Body, Context, Handler, Outcome, Tool, check, find};
use beads_core::Op;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Atomic, Call, Each};

/// The maximum number of operations per request; they share one sync of the journal.
const CHUNK_OPS: usize = 1_000;

/// A chunk is full at this size. One more operation, even the largest, still fits into a frame.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// Keeps one call from blocking the store for minutes.
const MAX_ITEMS: usize = 100_000;

pub fn is_batch(input: &Value) -> bool {
    input.get("batch") == Some(&Value::Bool(true))
}

/// Returns the schema of a batch. Fields beside `items` apply to all items, unless an item overrides them.
pub fn schema(tool: &Tool) -> Value {
    let item = tool.input_schema();
    let mut properties = json!({
        "batch": {"type": "boolean", "const": true, "description": "Many inputs in one call"},
        "items": {
            "type": "array", "minItems": 0, "maxItems": MAX_ITEMS, "description": "The inputs, each as for one call",
            "items": without_schema(item.clone()),
        },
    });
    for name in call_fields::names(tool).filter(|name| *name != "stream") {
        properties[name] = item["properties"][name].clone();
    }
    if is_atomic(tool) {
        properties["atomic"] =
            json!({"type": "boolean", "default": false, "description": "All of them or none"});
    }
    json!({
        "$schema": item["$schema"],
        "type": "object",
        "description": format!("Many inputs of {} in one call", tool.name),
        "properties": properties,
        "required": ["batch", "items"],
        "additionalProperties": false,
    })
}

fn without_schema(mut schema: Value) -> Value {
    schema.as_object_mut().map(|schema| schema.remove("$schema"));
    schema
}

fn is_atomic(tool: &Tool) -> bool {
    matches!(tool.handler, Handler::Op(_))
}

pub(super) fn run(tool: &Tool, mut input: Value, context: &Context<'_>) -> Result<Outcome, Failure> {
    let schema = schema(tool);
    // Items are checked one by one, so that a bad item does not fail the others.
    let items = input.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
    check::check(&schema, &mut input)?;
    let items = items.ok_or_else(|| {
        Failure::new(Code::InvalidType, "items must be array")
            .with(json!({"field": "items", "expected": "array"}))
    })?;
    if items.len() > MAX_ITEMS {
        return Err(Failure::invalid(format!("more than {MAX_ITEMS} items")).with(json!({"field": "items"})));
    }
    let (fields, own) = call_fields::split(&input)?;
    let context = &context.with_call_fields(&fields)?;
    let atomic = own["atomic"] == true;
    let results = match &tool.handler {
        Handler::Op(op) => ops(tool, *op, &items, atomic, context)?,
        Handler::Act(_) => one_by_one(tool, items, context),
    };
    let count = results.len();
    let outcome = Outcome { body: Body::Batch(results), metadata: Map::new() }.with("count", count);
    Ok(if tool.mutates { outcome.with("applied", context.apply) } else { outcome })
}

/// The result of each item.
pub type Results = Vec<Result<Box<RawValue>, Failure>>;

fn one_by_one(tool: &Tool, items: Vec<Value>, context: &Context<'_>) -> Results {
    let count = items.len();
    let mut results = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        (context.progress)(percent(index, count));
        let request_id = context.request_id.as_ref().map(|id| format!("{id}/{index}"));
        let one = Context { request_id, ..context.clone() };
        let result = refuse_stream(&item).and_then(|()| tool.run_one(item, &one)?.into_result());
        results.push(result.map_err(|failure| context.name_reused_key(failure)));
    }
    (context.progress)(100);
    results
}

/// Refuses `stream` in an item of a batch.
fn refuse_stream(item: &Value) -> Result<(), Failure> {
    match item.get("stream") {
        Some(Value::Bool(true)) => {
            Err(Failure::invalid("an item of a batch cannot be streamed; leave \"stream\" out")
                .with(json!({"field": "stream"})))
        }
        _ => Ok(()),
    }
}

fn percent(done: usize, all: usize) -> u8 {
    u8::try_from(done * 100 / all.max(1)).unwrap_or(100)
}

/// Sends the operations to the store together. Invalid ones are not sent.
fn ops(
    tool: &Tool,
    op: fn(Value) -> Result<Op, Failure>,
    items: &[Value],
    atomic: bool,
    context: &Context<'_>,
) -> Result<Results, Failure> {
    let schema = tool.input_schema();
    let mut planned = Vec::new();
    for item in items {
        planned.push(plan(schema, op, item.clone(), context));
    }
    if atomic {
        return all_or_none(planned, context);
    }
    each(0, planned, context)
}

/// One item of a batch: an operation, or why it is invalid.
pub type Planned = Result<Op, Failure>;

fn plan(
    schema: &Value,
    op: fn(Value) -> Result<Op, Failure>,
    mut item: Value,
    context: &Context<'_>,
) -> Planned {
    check::check(schema, &mut item)?;
    let (fields, own) = call_fields::split(&item)?;
    refuse_per_item_fields(&fields, context)?;
    op(own)
}

/// Refuses items with a different store, actor or key: a request has only one of each.
fn refuse_per_item_fields(fields: &CallFields, context: &Context<'_>) -> Result<(), Failure> {
    let other = [
        ("repo", fields.repo.as_ref().is_some_and(|repo| context.directory.join(repo) != context.directory)),
        ("actor", fields.actor.as_ref().is_some_and(|actor| *actor != context.actor)),
        ("idempotency_key", fields.idempotency_key.is_some()),
    ];
    match other.iter().find(|(_, other)| *other) {
        None => Ok(()),
        Some((field, _)) => {
            Err(Failure::invalid(format!("put {field:?} beside \"items\": it applies to all of them"))
                .with(json!({"field": field})))
        }
    }
}

/// Parses a line of `bd batch`, such as `{"op": "create", "title": "x"}`.
pub fn operation(line: Value, context: &Context<'_>) -> Planned {
    let Value::Object(mut fields) = line else {
        return Err(Failure::new(Code::InvalidType, "an operation must be object")
            .with(json!({"expected": "object"})));
    };
    let missing =
        || Failure::new(Code::MissingField, "the field \"op\" is missing").with(json!({"field": "op"}));
    let name = fields.remove("op").ok_or_else(missing)?;
    let tool = name.as_str().and_then(|name| find(&format!("beads.{name}")));
    match tool.map(|tool| (tool, &tool.handler)) {
        Some((tool, Handler::Op(op))) => plan(tool.input_schema(), *op, Value::Object(fields), context),
        _ => {
            let known = super::table().iter().filter(|tool| is_atomic(tool));
            let known: Vec<_> = known.filter_map(|tool| tool.name.strip_prefix("beads.")).collect();
            Err(Failure::invalid(format!("unknown operation {name}; use one of {}", known.join(", ")))
                .with(json!({"field": "op", "expected": known})))
        }
    }
}

/// Applies each valid operation separately. `first` is the index of the first one in the whole batch.
pub fn each(first: usize, planned: Vec<Planned>, context: &Context<'_>) -> Result<Results, Failure> {
    let count = planned.len();
    let mut results: Results = Vec::new();
    let mut chunk = Chunk { first, ..Chunk::default() };
    for (index, one) in planned.into_iter().enumerate() {
        if one.is_err() || chunk.is_full() {
            results.append(&mut chunk.send(context)?);
            chunk.first = first + index;
            (context.progress)(percent(index, count));
        }
        match one {
            Ok(op) => chunk.push(op),
            Err(failure) => {
                results.push(Err(failure));
                chunk.first += 1;
            }
        }
    }
    results.append(&mut chunk.send(context)?);
    (context.progress)(100);
    Ok(results)
}

/// Consecutive operations of a batch. They keep their index in the batch, so that a retried request finds
/// each result under the same number.
#[derive(Default)]
struct Chunk {
    first: usize,
    ops: Vec<Op>,
    bytes: usize,
}

impl Chunk {
    fn is_full(&self) -> bool {
        self.ops.len() >= CHUNK_OPS || self.bytes >= CHUNK_BYTES
    }

    fn push(&mut self, op: Op) {
        self.bytes += serde_json::to_vec(&op).map_or(0, |bytes| bytes.len());
        self.ops.push(op);
    }

    fn send(&mut self, context: &Context<'_>) -> Result<Results, Failure> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Answered {
            Done(Box<RawValue>),
            Failed(Failure),
        }
        let ops = std::mem::take(&mut self.ops);
        self.bytes = 0;
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        let call = Call::Each(Each { ops, first: self.first, dry_run: !context.apply });
        let answered = context.ask(call)?.into_result()?;
        let answered: Vec<Answered> = serde_json::from_str(answered.get()).map_err(Failure::internal)?;
        let result = |answered| match answered {
            Answered::Done(done) => Ok(done),
            Answered::Failed(failure) => Err(failure),
        };
        Ok(answered.into_iter().map(result).collect())
    }
}

/// Applies all operations in one step. One invalid operation fails the whole batch.
pub fn all_or_none(planned: Vec<Planned>, context: &Context<'_>) -> Result<Results, Failure> {
    #[derive(serde::Deserialize)]
    struct Answered {
        results: Vec<Box<RawValue>>,
    }
    let with_index = |index: usize, failure: Failure| {
        let mut details = failure.details.as_object().cloned().unwrap_or_default();
        details.insert("index".to_owned(), index.into());
        failure.with(Value::Object(details))
    };
    let ops = planned.into_iter().enumerate();
    let ops: Vec<Op> = ops
        .map(|(index, one)| one.map_err(|failure| with_index(index, failure)))
        .collect::<Result<_, _>>()?;
    if ops.is_empty() {
        return Ok(Vec::new());
    }
    let atomic = Atomic { ops, dry_run: !context.apply, ..Atomic::default() };
    let answered = context.ask(Call::Atomic(atomic))?.into_result()?;
    let answered: Answered = serde_json::from_str(answered.get()).map_err(Failure::internal)?;
    Ok(answered.results.into_iter().map(Ok).collect())
}
