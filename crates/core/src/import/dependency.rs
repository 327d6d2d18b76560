//! Dependencies of other trackers, which become edges.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fields::Fields;
use super::{kind, unknown_actor};
use crate::{BeadId, Edge, EdgeKind, Mark, Stamp};

/// The fields that an edge can represent.
const KNOWN: [&str; 5] = ["issue_id", "depends_on_id", "type", "created_at", "created_by"];

/// An edge whose target may not exist.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub to: BeadId,
    pub kind: EdgeKind,
    pub edge: Edge,
    /// Whether the edge represents the original completely, so that the original need not be kept.
    pub exact: bool,
    pub original: Value,
}

impl Dependency {
    /// Reads an edge. Returns `None` if it names no bead. An edge without a time gets the creation time of
    /// its bead. With the time of the last change instead, it would come back after a user removed it in the
    /// store.
    ///
    /// The output of `show` has the target bead with a `dependency_type`; the times and the creator in it
    /// belong to that bead, not to the edge.
    pub fn read(map: &Map<String, Value>, fallback: Stamp) -> Option<Self> {
        let shown = ["depends_on_id", "to"].iter().all(|name| !map.contains_key(*name));
        let mut fields = if shown { Fields::new(end_of_shown(map)) } else { Fields::new(map.clone()) };
        let to = fields.string("depends_on_id").or_else(|| fields.string("to"))?.parse().ok()?;
        let word =
            ["type", "kind", "dep_type"].iter().find_map(|name| fields.string(name)).unwrap_or_default();
        let (kind, same_word) = kind::mapped_edge(&word);
        let at = fields.stamp("created_at").unwrap_or(fallback);
        let by = fields.actor("created_by").unwrap_or_else(unknown_actor);
        let created = Mark::new(at, by);
        let deleted = fields.stamp("deleted_at").map(|at| {
            let by = fields.actor("deleted_by").unwrap_or_else(unknown_actor);
            Mark::new(at.max(created.at()), by)
        });
        let edge = Edge {
            changed: deleted.clone().unwrap_or_else(|| created.clone()),
            deleted: deleted.is_some(),
            created,
        };
        let known = map.iter().all(|(name, value)| KNOWN.contains(&name.as_str()) || value.is_null());
        let exact = same_word && known && map.contains_key("created_at");
        Some(Self { to, kind, edge, exact, original: Value::Object(map.clone()) })
    }
}

/// Returns the edge from an object that `show` prints for a dependency.
fn end_of_shown(map: &Map<String, Value>) -> Map<String, Value> {
    let taken = [("id", "depends_on_id"), ("dependency_type", "type")];
    let found =
        taken.iter().filter_map(|(theirs, ours)| Some(((*ours).to_owned(), map.get(*theirs)?.clone())));
    found.collect()
}

/// Marks edges of the file that become the same edge as inexact, so that both originals are kept.
pub(super) fn mark_merged(dependencies: &mut [Dependency]) {
    let mut times: BTreeMap<(BeadId, EdgeKind), usize> = BTreeMap::new();
    for edge in dependencies.iter() {
        *times.entry((edge.to.clone(), edge.kind)).or_default() += 1;
    }
    for edge in dependencies {
        edge.exact &= times.get(&(edge.to.clone(), edge.kind)) == Some(&1);
    }
}
