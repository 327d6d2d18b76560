//! When and by whom the fields of a line were written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::Fields;
use super::{time, unknown_actor};
use crate::body::FieldName;
use crate::{Field, Mark, Stamp, Status, StatusGroup};

/// The marks of all fields, as far as the file has them.
#[derive(Debug, Clone)]
pub(super) struct Marks {
    /// The mark of all fields that are not in `others`.
    pub top: Mark,
    pub others: BTreeMap<FieldName, Mark>,
}

impl Marks {
    /// Returns the mark of a field.
    pub fn of(&self, field: Field) -> Mark {
        self.others.get(&FieldName(field)).unwrap_or(&self.top).clone()
    }

    /// Reads `_at`, `_by` and `_v` of a legacy store.
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let by = fields.actor("_by");
        let top = Mark::new(fields.stamp("_at")?, by.unwrap_or_else(unknown_actor));
        let mut others = BTreeMap::new();
        if let Some(Value::Object(versions)) = fields.take("_v") {
            for (name, value) in &versions {
                let Some(mark) = time::read_mark(value) else { continue };
                let names: &[Field] = match name.as_str() {
                    "claim" | "assignee" => &[Field::Assignee, Field::AssigneeExpires],
                    "workflow" => &[Field::Status],
                    name => match Field::ALL.iter().position(|field| field.name() == name) {
                        Some(index) => &Field::ALL[index..=index],
                        None => &[],
                    },
                };
                others.extend(names.iter().map(|field| (FieldName(*field), mark.clone())));
            }
        }
        Some(Self { top, others })
    }
}

/// The times of a line of `issues.jsonl`.
pub(super) struct Times {
    pub created: Mark,
    pub updated: Mark,
    pub closed: Option<Mark>,
}

impl Times {
    /// Reads the times. A missing time is replaced by the nearest one that is present.
    pub fn read(fields: &mut Fields) -> Self {
        let by = fields.actor("created_by").unwrap_or_else(unknown_actor);
        let (created, updated) = (fields.stamp("created_at"), fields.stamp("updated_at"));
        let closed_by = fields.actor("closed_by");
        let closed = fields.rest().get("closed_at").map(time::read);
        let closed = match closed {
            Some(time::Time::At(stamp)) => Some(stamp),
            _ => None,
        };
        let deleted = match fields.rest().get("deleted_at").map(time::read) {
            Some(time::Time::At(stamp)) => Some(stamp),
            _ => None,
        };
        let birth = created.or(updated).or(closed).or(deleted).unwrap_or(Stamp::ZERO);
        let created = Mark::new(birth, by);
        let updated = updated.unwrap_or(birth).max(birth);
        let writer = fields
            .actor("updated_by")
            .unwrap_or_else(|| if updated == birth { created.by().clone() } else { unknown_actor() });
        let updated = Mark::new(updated, writer);
        let closed = closed.map(|at| Mark::new(at, closed_by.unwrap_or_else(|| updated.by().clone())));
        Self { created, updated, closed }
    }

    /// Returns the marks that follow from the times. The status of a closed bead has the close time.
    pub fn marks(&self, status: &StatusGroup) -> Marks {
        let mut others = BTreeMap::new();
        if let Some(closed) = self.closed.as_ref().filter(|_| status.status == Status::Closed)
            && *closed != self.updated
        {
            others.insert(FieldName(Field::Status), closed.clone());
        }
        Marks { top: self.updated.clone(), others }
    }
}
