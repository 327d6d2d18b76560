//! What a client means when it names a bead.

use beads_core::Actor;
use beads_core::query::Filter;

use super::session::Session;
use crate::failure::Failure;
use crate::request::Query;

/// The bead behind an id as clients write it: a bead's own id, one with the workspace in front, or a foreign id (`PLAN-001`,
/// `TASK-001`, `STEP-…`, `NODE-…`), which is looked for among the external references.
pub fn id(session: &Session, actor: &Actor, named: &str) -> Result<String, Failure> {
    let named = named.trim();
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
    let beads = session.query(actor, Query::List(Filter::default()))?;
    let found = beads.as_array().into_iter().flatten().find(|bead| bead["external_ref"] == named);
    let unknown = || Failure::new("not_found", format!("no bead has the external reference {named}"));
    found.and_then(|bead| bead["id"].as_str()).map(str::to_owned).ok_or_else(unknown)
}

/// `(PLAN|TASK)-[0-9]{3,}` and `(STEP|NODE)-[A-Za-z0-9]{8,}`.
fn is_foreign(id: &str) -> bool {
    let rest = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| id.strip_prefix(prefix));
    let numbered = rest(["PLAN-", "TASK-"])
        .is_some_and(|rest| rest.len() >= 3 && rest.bytes().all(|b| b.is_ascii_digit()));
    let opaque = rest(["STEP-", "NODE-"])
        .is_some_and(|rest| rest.len() >= 8 && rest.bytes().all(|b| b.is_ascii_alphanumeric()));
    numbered || opaque
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids() {
        for foreign in ["PLAN-001", "TASK-1234", "STEP-abcd1234", "NODE-ABCDEFGH9"] {
            assert!(is_foreign(foreign), "{foreign}");
        }
        for own in ["bd-a1", "PLAN-1", "STEP-abc", "TASK-12x", "bd-PLAN-001"] {
            assert!(!is_foreign(own), "{own}");
        }
    }
}
