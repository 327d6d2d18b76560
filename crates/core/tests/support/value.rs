//! A few values for each register, as fields of a line. There are so few that replicas often write the same
//! value.

use beads_core::{Claim, Field, Mark, Patch, Register, StatusGroup, TypeGroup};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The non-empty fields of a register's group, by name.
pub type Group = Map<String, Value>;

pub fn group(field: Field, n: u8) -> Group {
    let n = usize::from(n);
    let texts = [json!(""), json!("one"), json!("é\"\n\u{1}\\/"), json!("two")];
    let times = [json!(null), json!(0), json!(1_702_234_567_890_u64)];
    let one = match field {
        Field::Title => json!(["t0", "t1", "t2", "ü \"t\""][n % 4]),
        Field::Description | Field::Design | Field::AcceptanceCriteria => texts[n % 4].clone(),
        Field::Priority => json!(n % 5),
        Field::Type => json!(["bug", "feature", "task", "epic", "chore"][n % 5]),
        Field::Labels => [json!([]), json!(["x"]), json!(["x", "y"]), json!(["ä b"])][n % 4].clone(),
        Field::ExternalRef | Field::SourceRepo => json!(["", "gh-1", "git@x:y"][n % 3]),
        Field::EstimatedMinutes => [json!(null), json!(0), json!(90)][n % 3].clone(),
        Field::DueAt | Field::DeferUntil | Field::AssigneeExpires => times[n % 3].clone(),
        Field::Metadata => metadata(n),
        Field::Status => return status(n),
        Field::Assignee => return claim(n),
    };
    let empty = one.is_null() || [json!(""), json!([]), json!({})].contains(&one);
    if empty { Group::new() } else { Group::from_iter([(field.name().to_owned(), one)]) }
}

/// Two of the values are equal as numbers but differ as bytes.
fn metadata(n: usize) -> Value {
    let values = [
        json!({}),
        json!({"k": "v"}),
        json!({"k": 0.0}),
        json!({"k": -0.0}),
        json!({"a": [1, {"b": null}], "z": -3}),
    ];
    values[n % 5].clone()
}

fn status(n: usize) -> Group {
    let groups = [
        json!({"status": "open"}),
        json!({"status": "in_progress"}),
        json!({"status": "closed"}),
        json!({"status": "closed", "closed_reason": "done\tat last"}),
        json!({"status": "closed", "closed_reason": "dup", "closed_on_branch": "main"}),
    ];
    groups[n % 5].as_object().unwrap().clone()
}

fn claim(n: usize) -> Group {
    let groups = [
        json!({}),
        json!({"assignee": "ann"}),
        json!({"assignee": "bob", "assignee_expires": 7}),
        json!({"assignee": "bob", "assignee_expires": 1_702_234_567_890_u64}),
    ];
    groups[n % 4].as_object().unwrap().clone()
}

/// Returns a patch that writes a group with one mark. It cannot be a renewal, which needs the claim it
/// renews.
pub fn patch(field: Field, mark: Mark, group: &Group) -> Patch {
    let one = group.get(field.name());
    let mut patch = Patch::default();
    match field {
        Field::Title => patch.title = register(mark, one, json!(null)),
        Field::Description => patch.description = register(mark, one, json!("")),
        Field::Priority => patch.priority = register(mark, one, json!(null)),
        Field::Type => {
            let word = typed(group.get("type_word"), json!(null));
            patch.kind = Some(Register::new(mark, TypeGroup { kind: typed(one, json!(null)), word }));
        }
        Field::Labels => patch.labels = register(mark, one, json!([])),
        Field::Design => patch.design = register(mark, one, json!("")),
        Field::AcceptanceCriteria => patch.acceptance_criteria = register(mark, one, json!("")),
        Field::ExternalRef => patch.external_ref = register(mark, one, json!("")),
        Field::SourceRepo => patch.source_repo = register(mark, one, json!("")),
        Field::EstimatedMinutes => patch.estimated_minutes = register(mark, one, json!(null)),
        Field::DueAt => patch.due_at = register(mark, one, json!(null)),
        Field::DeferUntil => patch.defer_until = register(mark, one, json!(null)),
        Field::Metadata => patch.metadata = register(mark, one, json!({})),
        Field::Status => {
            let group = StatusGroup {
                status: typed(one, json!(null)),
                word: typed(group.get("status_word"), json!(null)),
                closed_reason: typed(group.get("closed_reason"), json!("")),
                closed_on_branch: typed(group.get("closed_on_branch"), json!("")),
            };
            patch.status = Some(Register::new(mark, group));
        }
        Field::Assignee => {
            let expires = typed(group.get("assignee_expires"), json!(null));
            patch.claim = Some(Claim::new(mark, typed(one, json!(null)), expires));
        }
        Field::AssigneeExpires => panic!("a renewal needs the claim it renews"),
    }
    patch
}

pub fn typed<T: DeserializeOwned>(value: Option<&Value>, empty: Value) -> T {
    serde_json::from_value(value.cloned().unwrap_or(empty)).unwrap()
}

fn register<T: DeserializeOwned + Clone + PartialEq>(
    mark: Mark,
    value: Option<&Value>,
    empty: Value,
) -> Option<Register<T>> {
    Some(Register::new(mark, typed(value, empty)))
}

/// Returns the value of a register of a new bead.
pub fn birth_group(field: Field) -> Group {
    match field {
        Field::Title => Group::from_iter([("title".to_owned(), json!("new"))]),
        Field::Priority => Group::from_iter([("priority".to_owned(), json!(2))]),
        Field::Type => Group::from_iter([("type".to_owned(), json!("task"))]),
        Field::Status => Group::from_iter([("status".to_owned(), json!("open"))]),
        _ => Group::new(),
    }
}

/// Returns all registers of a new bead with one mark.
pub fn birth(mark: &Mark) -> Patch {
    let mut whole = Patch::default();
    for field in Field::ALL.iter().filter(|field| **field != Field::AssigneeExpires) {
        overlay(&mut whole, patch(*field, mark.clone(), &birth_group(*field)));
    }
    whole
}

/// Adds the registers of one patch to another.
pub fn overlay(whole: &mut Patch, part: Patch) {
    macro_rules! take {
        ($($field:ident)*) => {$(if part.$field.is_some() { whole.$field = part.$field; })*};
    }
    take!(title description priority kind labels design acceptance_criteria external_ref source_repo);
    take!(estimated_minutes due_at defer_until metadata status claim deletion);
    whole.notes.extend(part.notes);
}
