use std::collections::{BTreeMap, BTreeSet};

use beads_core::Op;
use beads_core::op::{Create, Dep};
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Atomic, Call};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::next::held;
use super::{Caller, PortalCall, row, text};
use crate::mcp::lines::{Lines, command};
use crate::mcp::{enums, target};
use crate::tool::{check, read, schema};

/// Create a bead, or many at once.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Make {
    title: String,
    description: String,
    /// bug, feature, task, epic, chore
    #[serde(rename = "type")]
    kind: Option<String>,
    /// 0 (urgent) to 4
    #[schemars(with = "Option<u8>")]
    priority: Option<Value>,
    parent: Option<String>,
    /// Ids it depends on, or kind:id (related, discovered_from)
    deps: Vec<String>,
    labels: Vec<String>,
    acceptance_criteria: String,
    /// Instead: beads with these fields and a name, which parent and deps may use
    many: Vec<Map<String, Value>>,
}

impl PortalCall for Make {
    /// Also accepts the second spelling of priorities, which is not listed.
    fn strict() -> Map<String, Value> {
        let mut schema = schema::input::<Self>();
        schema["properties"]["priority"] = json!({"type": ["integer", "string", "null"]});
        schema
    }

    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        if self.many.is_empty() {
            let create = self.create(caller, &BTreeMap::new())?;
            let made = caller.mutate(Call::one(Op::Create(Box::new(create))))?;
            let next = command("next", &json!({"id": made["id"]}));
            return Ok(Lines::state(format!("made {}", row(&made))).then(next).with_data(made));
        }
        if !self.title.is_empty() {
            return Err(Failure::usage("give either title or many, not both"));
        }
        let (names, beads) = in_dependency_order(parse_many(self.many)?)?;
        let create = |bead: Self| Ok(Op::Create(Box::new(bead.create(caller, &names)?)));
        let ops = beads.into_iter().map(create).collect::<Result<_, Failure>>()?;
        let atomic = Atomic { ops, names, dry_run: false };
        let made = caller.mutate(Call::Atomic(atomic))?;
        // Do not suggest another claim to a caller that holds a bead.
        let next = if held(caller)?.is_empty() { "next" } else { "status" };
        Ok(summary_lines(&made).then(next.to_owned()).with_data(made))
    }
}

impl Make {
    fn create(self, caller: Caller<'_>, names: &BTreeMap<String, usize>) -> Result<Create, Failure> {
        // A name from the same call is not resolved yet.
        let resolve = |id: &str| match names.contains_key(id) {
            true => Ok(id.to_owned()),
            false => caller.session.target(caller.actor, Some(id)),
        };
        let mut deps = Vec::new();
        for named in &self.deps {
            let dep: Dep = match named.parse() {
                Ok(dep) => dep,
                // The part before the colon may be the workspace.
                Err(_) => target::dep(caller.session, caller.actor, named)?.parse()?,
            };
            deps.push(Dep { id: resolve(&dep.id)?, role: dep.role });
        }
        let mut create = Create::titled(self.title.parse()?);
        create.description = self.description.parse()?;
        create.acceptance_criteria = self.acceptance_criteria.parse()?;
        create.labels = self.labels.iter().map(|label| label.parse()).collect::<Result<_, _>>()?;
        create.parent = self.parent.as_deref().map(resolve).transpose()?;
        create.deps = deps;
        if let Some(kind) = self.kind {
            create.kind = kind.parse()?;
        }
        if let Some(priority) = self.priority {
            create.priority = enums::priority(&priority)?;
        }
        Ok(create)
    }
}

/// Adds the index of the bead in `many` to a failure.
fn with_index(failure: Failure, number: usize) -> Failure {
    let mut details = failure.details.clone();
    if let Some(field) = details["field"].as_str() {
        details["field"] = format!("many.{number}.{field}").into();
    }
    Failure::new(failure.code, format!("many[{number}]: {}", failure.message)).with(details)
}

/// A bead to create, and the name that others in the call use for it.
type Named = (Option<String>, Make);

fn parse_many(many: Vec<Map<String, Value>>) -> Result<Vec<Named>, Failure> {
    let mut beads: Vec<Named> = Vec::new();
    let schema = Value::Object(Make::strict());
    for (number, mut one) in many.into_iter().enumerate() {
        let name = match one.remove("name") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => {
                let message = format!("\"many.{number}.name\" must be string (received {other})");
                return Err(Failure::invalid(message).with(json!({"field": format!("many.{number}.name")})));
            }
        };
        if name.is_some() && beads.iter().any(|(other, _)| *other == name) {
            return Err(Failure::invalid(format!("two beads have the name {:?}", name.unwrap_or_default())));
        }
        let mut one = Value::Object(one);
        check::check(&schema, &mut one).map_err(|failure| with_index(failure, number))?;
        let bead: Make = read(one).map_err(|failure| with_index(failure, number))?;
        if !bead.many.is_empty() {
            return Err(Failure::usage("many does not nest"));
        }
        beads.push((name, bead));
    }
    Ok(beads)
}

/// Orders beads so that each comes after those it names, and keeps the given order otherwise.
fn in_dependency_order(mut beads: Vec<Named>) -> Result<(BTreeMap<String, usize>, Vec<Make>), Failure> {
    let all: BTreeSet<String> = beads.iter().filter_map(|(name, _)| name.clone()).collect();
    let (mut names, mut ordered) = (BTreeMap::new(), Vec::new());
    while !beads.is_empty() {
        let waits = |bead: &Make| {
            let behind_kind = |dep: &str| dep.split_once(':').map_or(dep, |(_, id)| id).to_owned();
            let mut mentioned = bead.deps.iter().map(|dep| behind_kind(dep)).chain(bead.parent.clone());
            mentioned.any(|name| all.contains(&name) && !names.contains_key(&name))
        };
        let Some(next) = beads.iter().position(|(_, bead)| !waits(bead)) else {
            return Err(Failure::new(Code::Cycle, "these beads depend on each other; nothing was created"));
        };
        let (name, bead) = beads.remove(next);
        names.extend(name.map(|name| (name, ordered.len())));
        ordered.push(bead);
    }
    Ok((names, ordered))
}

fn summary_lines(made: &Value) -> Lines {
    let names: BTreeMap<&str, &str> = made["ids"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, id)| Some((id.as_str()?, name.as_str())))
        .collect();
    let beads = made["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |bead: &Value| {
        let id = text(bead, "id");
        names.get(id).map_or_else(|| id.to_owned(), |name| format!("{name}={id}"))
    };
    let all: Vec<String> = beads.iter().map(named).collect();
    Lines::state(format!("made {}: {}", beads.len(), all.join(", ")))
}
