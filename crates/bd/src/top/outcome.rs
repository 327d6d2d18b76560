//! What to say when a change was made or refused.

use beads_core::{Code, Op};
use beads_engine::failure::Failure;
use beads_engine::request::Call;
use serde_json::Value;

/// Says what was done. `said` is what was asked for.
pub fn done(call: &Call, said: &str, answer: &Value) -> String {
    let parts = match call {
        Call::Undo { .. } => undone(answer),
        _ => warnings(answer),
    };
    if parts.is_empty() { said.to_owned() } else { format!("{said}: {}", parts.join("; ")) }
}

/// Says why a change was refused, and what can be done about it.
pub fn refused(call: &Call, failure: &Failure) -> String {
    match closed_bead(call).filter(|_| is_check(&failure.code)) {
        Some(id) => format!("Error: {}. To close it anyway: bd close {id} --force", failure.message),
        None => failure.line().trim_end().to_owned(),
    }
}

/// Names the beads and dependencies that an undo changed.
fn undone(answer: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    let bead = |bead: &Value| {
        let fields = bead["changes"].as_array().into_iter().flatten();
        let fields: Vec<String> = fields.map(|change| text(&change["field"]).replace('_', " ")).collect();
        let (id, title) = (text(&bead["id"]), text(&bead["title"]));
        match (text(&bead["action"]).as_str(), fields.is_empty()) {
            ("changed", false) => format!("{} of {id} ({title})", fields.join(", ")),
            (action, _) => format!("{id} {action} ({title})"),
        }
    };
    let edge = |edge: &Value| {
        let (from, to) = (text(&edge["issue_id"]), text(&edge["depends_on_id"]));
        format!("dependency of {from} on {to} {}", text(&edge["status"]))
    };
    list("beads").iter().map(bead).chain(list("dependencies").iter().map(edge)).collect()
}

/// Returns the obstacles that a close ignored.
fn warnings(answer: &Value) -> Vec<String> {
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    warnings.filter_map(|one| one["message"].as_str()).map(str::to_owned).collect()
}

fn closed_bead(call: &Call) -> Option<&str> {
    let Call::Mutate(mutate) = call else { return None };
    match mutate.ops.as_slice() {
        [Op::Close(close)] => Some(&close.id),
        _ => None,
    }
}

/// Returns whether a code means that a check of `bd close` failed, which `--force` skips.
fn is_check(code: &Code) -> bool {
    matches!(code, Code::Blocked | Code::OpenChildren | Code::EvidenceRequired | Code::NotHolder)
}

#[cfg(test)]
mod tests {
    use beads_core::op::Close;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_undo_names_what_it_changed() {
        let call = Call::Undo { dry_run: false, redo: false, skip: false };
        let answer = json!({
            "dry_run": false,
            "beads": [
                {"id": "bd-1", "title": "Rotate the keys", "action": "changed", "changes": [{"field": "status", "from": "closed", "to": "open"}]},
                {"id": "bd-2", "title": "Tag it", "action": "deleted", "changes": []},
            ],
            "dependencies": [{"status": "added", "issue_id": "bd-3", "depends_on_id": "bd-1", "kind": "blocks"}],
        });
        let expected = "undone: status of bd-1 (Rotate the keys); bd-2 deleted (Tag it); dependency of bd-3 on bd-1 added";
        assert_eq!(done(&call, "undone", &answer), expected);
    }

    #[test]
    fn a_close_says_what_it_ignored_and_a_refused_one_names_the_way_out() {
        let call = Call::one(Op::Close(Close { id: "bd-1".into(), ..Close::default() }));
        let answer = json!({"id": "bd-1", "warnings": [{"code": "blocked", "message": "bd-1 was closed although it is blocked by bd-2"}]});
        let expected = "closed bd-1: bd-1 was closed although it is blocked by bd-2";
        assert_eq!(done(&call, "closed bd-1", &answer), expected);
        assert_eq!(done(&call, "closed bd-1", &json!({"id": "bd-1", "warnings": []})), "closed bd-1");
        let blocked = Failure::new(Code::Blocked, "bd-1 is blocked by bd-2; nothing was changed");
        assert!(refused(&call, &blocked).ends_with("To close it anyway: bd close bd-1 --force"));
        let missing = Failure::new(Code::NotFound, "bd-1 does not exist");
        assert!(!refused(&call, &missing).contains("--force"));
        assert!(!refused(&Call::Sync, &blocked).contains("--force"));
    }
}
