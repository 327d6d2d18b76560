//! Resolves the names that clients use for beads.

use beads_core::query::{Filter, Sort, SortKey};
use beads_core::{Actor, EdgeKind};
use beads_engine::failure::{Code, Failure};
use beads_engine::request::Query;
use serde_json::Value;

use super::graph_name;
use super::session::Session;

/// Resolves an id: a bead's id, optionally prefixed with the workspace, or a foreign id (`PLAN-001`,
/// `TASK-001`, `STEP-…`, `NODE-…`), which is looked up among the external references.
pub fn id(session: &Session, actor: &Actor, named: &str) -> Result<String, Failure> {
    let named = graph_name::node(named)?;
    let named = match named.split_once(':') {
        Some((workspace, id)) => {
            session.workspace.expect(workspace)?;
            id
        }
        None => named,
    };
    if !is_foreign(named) {
        return Ok(named.to_owned());
    }
    let filter = Filter { external_ref: Some(named.to_owned()), limit: Some(1), ..Filter::default() };
    let found = session.query(actor, Query::List(filter))?;
    let unknown = || Failure::new(Code::NotFound, format!("no bead has the external reference {named}"));
    found[0]["id"].as_str().map(str::to_owned).ok_or_else(unknown)
}

/// Resolves a target of a full view: an id, or an object with an id and an optional kind, which must match.
pub fn reference(session: &Session, actor: &Actor, target: &Value) -> Result<String, Failure> {
    let bad = || Failure::invalid("target must be an id, or an object with id and kind");
    if let Some(named) = target.as_str() {
        return id(session, actor, named);
    }
    let map = target
        .as_object()
        .filter(|map| map.keys().all(|key| key == "id" || key == "kind"))
        .ok_or_else(bad)?;
    let id = id(session, actor, map.get("id").and_then(Value::as_str).ok_or_else(bad)?)?;
    let is_plan = match map.get("kind").map(Value::as_str) {
        None => return Ok(id),
        Some(Some("plan")) => true,
        Some(Some("task")) => false,
        Some(_) => return Err(Failure::invalid("kind must be plan or task")),
    };
    if is_plan != self::is_plan(session, actor, &id)? {
        let kinds = if is_plan { ("task", "plan") } else { ("plan", "task") };
        let message = format!("{id} is a {}, not a {}", kinds.0, kinds.1);
        return Err(Failure::new(Code::ExpectedTargetMismatch, message));
    }
    Ok(id)
}

/// Resolves the id in a dependency, `id` or `kind:id`.
pub fn dep(session: &Session, actor: &Actor, named: &str) -> Result<String, Failure> {
    match named.split_once(':').map(|(kind, named)| (kind.parse::<EdgeKind>(), named)) {
        Some((Ok(kind), named)) => Ok(format!("{kind}:{}", id(session, actor, named)?)),
        _ => id(session, actor, named),
    }
}

/// Returns whether a bead is a plan: an epic, or any bead with children.
fn is_plan(session: &Session, actor: &Actor, id: &str) -> Result<bool, Failure> {
    let shown = session.query(actor, Query::Show { ids: vec![id.to_owned()] })?;
    let children = |link: &Value| link["kind"] == "parent";
    let has_children = shown[0]["dependents"].as_array().is_some_and(|links| links.iter().any(children));
    Ok(shown[0]["issue_type"] == "epic" || has_children)
}

/// Matches `(PLAN|TASK)-[0-9]{3,}` and `(STEP|NODE)-[A-Za-z0-9]{8,}`.
fn is_foreign(id: &str) -> bool {
    let rest = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| id.strip_prefix(prefix));
    let numbered = rest(["PLAN-", "TASK-"])
        .is_some_and(|rest| rest.len() >= 3 && rest.bytes().all(|b| b.is_ascii_digit()));
    let opaque = rest(["STEP-", "NODE-"])
        .is_some_and(|rest| rest.len() >= 8 && rest.bytes().all(|b| b.is_ascii_alphanumeric()));
    numbered || opaque
}

/// Follows a path such as `s:0.s:1`. Children are ordered by creation time and counted from 0.
pub fn step(session: &Session, actor: &Actor, from: &str, path: &str) -> Result<String, Failure> {
    let mut at = from.to_owned();
    for index in steps(path)? {
        let filter = Filter {
            parent: Some(at.clone()),
            sort: Sort { by: SortKey::Created, reverse: false },
            ..Filter::default()
        };
        let children = session.query(actor, Query::List(filter))?;
        let mut children: Vec<&Value> = children.as_array().into_iter().flatten().collect();
        children.sort_by_key(|child| (child["created_at"].as_str(), child["id"].as_str()));
        let count = children.len();
        let child = children.get(index).and_then(|child| child["id"].as_str());
        let missing =
            || Failure::new(Code::NotFound, format!("{at} has {count} children; there is no s:{index}"));
        at = child.ok_or_else(missing)?.to_owned();
    }
    Ok(at)
}

/// Parses the indexes of a path.
fn steps(path: &str) -> Result<Vec<usize>, Failure> {
    let bad = || Failure::invalid(format!("{path:?} is not a step path such as s:0.s:1"));
    let digits = |step: &str| {
        let digits = step.strip_prefix("s:").filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(bad)
    };
    path.split('.').map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids_and_step_paths() {
        for foreign in ["PLAN-001", "TASK-1234", "STEP-abcd1234", "NODE-ABCDEFGH9"] {
            assert!(is_foreign(foreign), "{foreign}");
        }
        for own in ["bd-a1", "PLAN-1", "STEP-abc", "TASK-12x", "bd-PLAN-001"] {
            assert!(!is_foreign(own), "{own}");
        }
        assert_eq!(steps("s:0.s:12"), Ok(vec![0, 12]));
        for bad in ["", "0", "s:", "s:1.", "s:-1", "s:1/s:2", "s:+1"] {
            assert!(steps(bad).is_err(), "{bad}");
        }
    }
}
