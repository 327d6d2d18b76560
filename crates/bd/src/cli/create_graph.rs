//! Parses the file of `bd create --graph`: named beads and the edges between them.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::op::{Create, DepAdd, DepRole};
use beads_core::{EdgeKind, Op};
use beads_engine::failure::Failure;
use beads_engine::request::Atomic;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphFile {
    beads: Vec<Map<String, Value>>,
    #[serde(default)]
    edges: Vec<Edge>,
}

/// An edge: `from` waits for `to`. Both are names in the file or ids in the store.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edge {
    from: String,
    to: String,
    #[serde(default = "blocks")]
    kind: EdgeKind,
}

fn blocks() -> EdgeKind {
    EdgeKind::Blocks
}

/// Parses the file into operations: beads first, parents before children because child ids start with the
/// parent id, then the edges.
pub fn parse(text: &str, dry_run: bool) -> Result<Atomic, Failure> {
    let file: GraphFile = serde_json::from_str(text)
        .map_err(|error| Failure::invalid(format!("the graph is invalid: {error}")))?;
    let mut beads = Vec::new();
    let mut known = BTreeSet::new();
    for (index, bead) in file.beads.into_iter().enumerate() {
        let (name, create) = parse_bead(bead, index)?;
        if !known.insert(name.clone()) {
            return Err(Failure::invalid(format!("the graph has two beads named {name:?}")));
        }
        beads.push((name, create));
    }
    let edges = file.edges.into_iter();
    assemble(
        beads,
        edges.map(|edge| DepAdd { from: edge.from, to: edge.to, kind: edge.kind }).collect(),
        dry_run,
    )
}

/// Builds the operations that create named beads and the edges between them.
pub fn assemble(
    mut beads: Vec<(String, Create)>,
    more_edges: Vec<DepAdd>,
    dry_run: bool,
) -> Result<Atomic, Failure> {
    let mut edges = Vec::new();
    for (name, create) in &mut beads {
        let deps = std::mem::take(&mut create.deps).into_iter();
        edges.extend(deps.map(|dep| match dep.role {
            DepRole::Blocks => DepAdd { from: dep.id, to: name.clone(), kind: EdgeKind::Blocks },
            role => DepAdd { from: name.clone(), to: dep.id, kind: role.kind() },
        }));
    }
    edges.extend(more_edges);
    let beads = parents_first(beads)?;
    let names: BTreeMap<_, _> =
        beads.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect();
    let creates = beads.into_iter().map(|(_, create)| Op::Create(Box::new(create)));
    Ok(Atomic { ops: creates.chain(edges.into_iter().map(Op::DepAdd)).collect(), names, dry_run })
}

/// Parses a bead: the fields of the operation `create`, and `name`, which defaults to its number.
fn parse_bead(mut bead: Map<String, Value>, index: usize) -> Result<(String, Create), Failure> {
    let bad = |reason: &str| Failure::invalid(format!("bead {} of the graph: {reason}", index + 1));
    let name = match bead.remove("name") {
        None => (index + 1).to_string(),
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(_) => return Err(bad("name must be a non-empty string")),
    };
    let create = serde_json::from_value(bead.into()).map_err(|error| bad(&error.to_string()))?;
    Ok((name, create))
}

fn parents_first(beads: Vec<(String, Create)>) -> Result<Vec<(String, Create)>, Failure> {
    let names: BTreeSet<_> = beads.iter().map(|(name, _)| name.clone()).collect();
    let mut placed = BTreeSet::new();
    let (mut ordered, mut waiting) = (Vec::new(), beads);
    while !waiting.is_empty() {
        let before = ordered.len();
        let ready = |create: &Create| {
            create.parent.as_ref().is_none_or(|parent| !names.contains(parent) || placed.contains(parent))
        };
        let (now, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, create)| ready(create));
        placed.extend(now.iter().map(|(name, _)| name.clone()));
        ordered.extend(now);
        waiting = later;
        if ordered.len() == before {
            let names: Vec<_> = waiting.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Failure::invalid(format!("the parents of {} form a cycle", names.join(", "))));
        }
    }
    Ok(ordered)
}
