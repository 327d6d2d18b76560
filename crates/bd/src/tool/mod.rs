//! JSON tools: one JSON object in, one JSON document out (docs/TOOLS.md).
//!
//! A tool is a file in [`beads`] or [`agent`]: its input type, whose comments are its documentation, and one
//! function that turns the input into an operation on the store. [`table`] lists the tools and [`run`] runs
//! one. Neither depends on the process, so that other interfaces can use them; [`runner`] is the process
//! around them.

mod agent;
mod batch;
mod beads;
mod call_fields;
pub mod check;
mod context;
pub mod envelope;
mod field;
mod flags;
pub mod install;
mod outcome;
pub mod runner;
pub mod schema;

pub use batch::{Planned, Results, all_or_none, each, operation};
pub use context::Context;
pub use outcome::{Body, Items, Outcome};

use std::sync::{LazyLock, OnceLock};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use beads_core::{Op, op};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

/// The name, description and output of a tool. The doc comment of the input type is the description, unless
/// `ABOUT` is set.
pub trait Definition: JsonSchema + DeserializeOwned {
    const NAME: &'static str;
    /// The description of a tool whose input is the operation itself.
    const ABOUT: Option<&'static str> = None;
    /// A typical input.
    const EXAMPLE: &'static str;
    /// The type of `result`.
    type Output: JsonSchema;
}

/// A tool that is one operation on beads.
pub trait Mutation: Definition {
    /// Converts fields that differ on this interface to those of the operation.
    fn adapt(_input: &mut Map<String, Value>) {}

    fn op(self) -> Result<Op, Failure>;
}

/// A tool that queries the store.
pub trait Question: Definition {
    /// How to split the answer into items for streaming.
    const STREAM: Option<Items> = None;

    fn call(self) -> Result<Call, Failure>;
}

/// A tool that needs more than one call, or builds its own answer.
pub trait Action: Definition {
    const MUTATES: bool;

    fn act(self, context: &Context<'_>) -> Result<Outcome, Failure>;
}

/// A tool on the agents' store.
pub trait Coordination: Definition {
    const MUTATES: bool;

    fn act(self, store: &crate::agent::store::Store) -> crate::agent::error::Result<Self::Output>;
}

/// One row of the table.
#[derive(Debug)]
pub struct Tool {
    pub name: &'static str,
    /// A typical input.
    pub example: &'static str,
    pub mutates: bool,
    stream: Option<Items>,
    own_input: fn() -> Map<String, Value>,
    /// Built once, because every item of a batch is checked against it.
    input: OnceLock<Value>,
    output: fn() -> Value,
    handler: Handler,
}

#[derive(Debug)]
enum Handler {
    Op(fn(Value) -> Result<Op, Failure>),
    Act(fn(Value, &Context<'_>) -> Result<Outcome, Failure>),
}

impl Tool {
    fn mutation<T: Mutation>() -> Self {
        let op = |mut input: Value| {
            input.as_object_mut().into_iter().for_each(T::adapt);
            read::<T>(input)?.op()
        };
        Self { mutates: true, ..Self::new::<T>(Handler::Op(op)) }
    }

    fn question<T: Question>() -> Self {
        let handler = Handler::Act(|input, context| context.ask(read::<T>(input)?.call()?));
        Self { stream: T::STREAM, ..Self::new::<T>(handler) }
    }

    fn action<T: Action>() -> Self {
        let handler = Handler::Act(|input, context| read::<T>(input)?.act(context));
        Self { mutates: T::MUTATES, ..Self::new::<T>(handler) }
    }

    fn coordination<T: Coordination>() -> Self
    where
        T::Output: serde::Serialize,
    {
        let handler = Handler::Act(|input, context| context.coordinate::<T>(&input));
        Self { mutates: T::MUTATES, ..Self::new::<T>(handler) }
    }

    fn new<T: Definition>(handler: Handler) -> Self {
        Self {
            name: T::NAME,
            example: T::EXAMPLE,
            mutates: false,
            stream: None,
            own_input: schema::own::<T>,
            input: OnceLock::new(),
            output: schema::output::<T::Output>,
            handler,
        }
    }

    /// Returns the schema that inputs are checked against, the same that `--schema` prints.
    pub fn input_schema(&self) -> &Value {
        self.input.get_or_init(|| call_fields::add_to_schema((self.own_input)(), self))
    }

    pub fn output_schema(&self) -> Value {
        (self.output)()
    }

    /// Returns the schema of an input with `batch: true`.
    pub fn batch_schema(&self) -> Value {
        batch::schema(self)
    }

    /// Returns whether the answer can be streamed.
    pub fn streams(&self) -> bool {
        self.stream.is_some()
    }

    pub fn description(&self) -> String {
        (self.own_input)().get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Returns the first line of the description.
    pub fn summary(&self) -> String {
        self.description().lines().next().unwrap_or_default().to_owned()
    }

    /// Returns `beads` or `agent`.
    pub fn group(&self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Checks an input. The error names the wrong field.
    pub fn check(&self, input: &Value) -> Result<(), Failure> {
        if batch::is_batch(input) {
            return check::check(&self.batch_schema(), &mut input.clone());
        }
        check::check(self.input_schema(), &mut input.clone())
    }

    fn run(&self, input: Value, context: &Context<'_>) -> Result<Outcome, Failure> {
        if batch::is_batch(&input) {
            return batch::run(self, input, context);
        }
        self.run_one(input, context)
    }

    fn run_one(&self, mut input: Value, context: &Context<'_>) -> Result<Outcome, Failure> {
        check::check(self.input_schema(), &mut input)?;
        let (fields, mut own) = call_fields::split(&input)?;
        let context = &context.with_call_fields(&fields)?;
        let outcome = match &self.handler {
            Handler::Op(op) => {
                let options = call_fields::take_claim_options(self, &mut own);
                context.mutate(op(own)?, &options)
            }
            Handler::Act(act) => act(own, context),
        }?;
        match self.stream.filter(|_| fields.stream) {
            Some(items) => outcome.streamed(items),
            None => Ok(outcome),
        }
    }
}

/// Deserializes an input that has been checked against its schema. Errors are about rules that a schema
/// cannot express.
#[allow(clippy::needless_pass_by_value)] // its callers do not need it any more
pub fn read<T: DeserializeOwned>(input: Value) -> Result<T, Failure> {
    T::deserialize(&input).map_err(|error| refused::<T>(&input, &error.to_string()))
}

/// Returns the failure for an input that cannot be deserialized, and finds the field: the first one with
/// which the same error occurs.
fn refused<T: DeserializeOwned>(input: &Value, complaint: &str) -> Failure {
    let mut before = Map::new();
    let is_refused = |(name, value): &(&String, &Value)| {
        before.insert((*name).clone(), (*value).clone());
        T::deserialize(Value::Object(before.clone())).is_err_and(|error| error.to_string() == complaint)
    };
    let field = input.as_object().into_iter().flatten().find(is_refused).map(|(name, _)| name);
    // Messages of serde mention Rust types, which mean nothing to the caller.
    let is_foreign = complaint.contains(", expected ")
        || complaint.contains(" field `")
        || complaint.contains(" variant `");
    let reason = if is_foreign { "invalid value for this field" } else { complaint };
    match field {
        Some(field) => Failure::invalid(format!("{field:?}: {reason}")).with(json!({"field": field})),
        None => Failure::invalid(reason),
    }
}

/// Returns all tools in the order in which they are listed.
pub fn table() -> &'static [Tool] {
    static TABLE: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        vec![
            Tool::mutation::<op::Create>(),
            Tool::mutation::<op::Update>(),
            Tool::action::<beads::show::Show>(),
            Tool::question::<beads::list::List>(),
            Tool::question::<beads::search::Search>(),
            Tool::question::<beads::ready::Ready>(),
            Tool::mutation::<beads::claim::Claim>(),
            Tool::mutation::<op::Unclaim>(),
            Tool::mutation::<op::HandOver>(),
            Tool::mutation::<op::Ask>(),
            Tool::mutation::<op::AnswerQuestion>(),
            Tool::question::<beads::questions::Questions>(),
            Tool::mutation::<op::Close>(),
            Tool::mutation::<op::Cancel>(),
            Tool::mutation::<op::Reopen>(),
            Tool::mutation::<op::Delete>(),
            Tool::mutation::<op::Restore>(),
            Tool::mutation::<op::DepAdd>(),
            Tool::mutation::<op::DepRemove>(),
            Tool::question::<beads::dep_tree::DepTree>(),
            Tool::mutation::<op::NoteAdd>(),
            Tool::action::<beads::sync::Sync>(),
            Tool::action::<beads::validate::Validate>(),
            Tool::question::<beads::watch::Watch>(),
            Tool::action::<beads::import::Import>(),
            Tool::question::<beads::export::Export>(),
            Tool::action::<beads::conflicts::Conflicts>(),
            Tool::coordination::<agent::register::Register>(),
            Tool::coordination::<agent::list::List>(),
            Tool::coordination::<agent::show::Show>(),
            Tool::coordination::<agent::send::Send>(),
            Tool::coordination::<agent::inbox::Inbox>(),
            Tool::coordination::<agent::read::Read>(),
            Tool::coordination::<agent::ack::Ack>(),
            Tool::coordination::<agent::reserve::Reserve>(),
            Tool::coordination::<agent::release::Release>(),
            Tool::coordination::<agent::status::Status>(),
            Tool::coordination::<agent::guard::Guard>(),
        ]
    });
    &TABLE
}

pub fn find(name: &str) -> Option<&'static Tool> {
    table().iter().find(|tool| tool.name == name)
}

/// Checks an input and runs the tool on it. Changes nothing unless the context says `apply`.
pub fn run(name: &str, input: Value, context: &Context<'_>) -> Result<Outcome, Failure> {
    let unknown = || {
        Failure::invalid(format!("unknown tool {name:?}; bd tool lists them")).with(json!({"field": "tool"}))
    };
    find(name).ok_or_else(unknown)?.run(input, context)
}
