//! The filters that list, search, ready and claim share. A bead must match all of them.

use beads_core::query::{self, SortKey, StatusFilter};
use beads_core::schema::BeadRef;
use beads_core::{Actor, BeadType, Label, Labels, Priority, Timestamp, Title};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::field;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Filter {
    /// Only these beads; unknown ids are ignored
    #[schemars(with = "Vec<BeadRef>", length(max = 10000))]
    ids: Option<Vec<String>>,
    /// Any of these statuses; blocked is derived from open dependencies
    #[schemars(with = "Vec<field::StatusFilter>", length(max = 4))]
    status: Vec<StatusFilter>,
    /// Any of these types
    #[serde(rename = "type")]
    #[schemars(length(max = 5))]
    types: Vec<BeadType>,
    /// This priority or a less urgent one
    priority_min: Option<Priority>,
    /// This priority or a more urgent one
    priority_max: Option<Priority>,
    /// Assigned to this actor
    assignee: Option<Actor>,
    /// Not assigned
    unassigned: bool,
    /// With all of these labels
    #[schemars(with = "Labels")]
    labels: Vec<Label>,
    /// With any of these labels
    #[schemars(with = "Labels")]
    labels_any: Vec<Label>,
    /// Title contains this text (case-insensitive)
    #[schemars(with = "Option<Title>")]
    title_contains: Option<String>,
    /// Created at or after this time, RFC 3339, a local date-time or a date
    #[schemars(with = "field::Time")]
    created_after: Option<Timestamp>,
    /// Created before this time
    #[schemars(with = "field::Time")]
    created_before: Option<Timestamp>,
    /// Last changed at or after this time
    #[schemars(with = "field::Time")]
    updated_after: Option<Timestamp>,
    /// Last changed before this time
    #[schemars(with = "field::Time")]
    updated_before: Option<Timestamp>,
    /// Closed at or after this time
    #[schemars(with = "field::Time")]
    closed_after: Option<Timestamp>,
    /// Closed before this time
    #[schemars(with = "field::Time")]
    closed_before: Option<Timestamp>,
}

impl Filter {
    /// Returns the query filter. A limit of 0 means no limit.
    pub fn filter(self, limit: usize) -> query::Filter {
        query::Filter {
            ids: self.ids,
            status: self.status,
            types: self.types.into_iter().map(Into::into).collect(),
            priority_min: self.priority_min,
            priority_max: self.priority_max,
            assignee: self.assignee,
            unassigned: self.unassigned,
            labels: self.labels,
            labels_any: self.labels_any,
            title_contains: self.title_contains,
            created_after: self.created_after,
            created_before: self.created_before,
            updated_after: self.updated_after,
            updated_before: self.updated_before,
            closed_after: self.closed_after,
            closed_before: self.closed_before,
            limit: (limit > 0).then_some(limit),
            ..query::Filter::default()
        }
    }
}

/// The beads that a list shows, and their order.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Selection {
    #[serde(flatten)]
    filter: Filter,
    #[serde(flatten)]
    order: Order,
    /// Only direct children of this bead
    #[serde(default)]
    #[schemars(with = "Option<BeadRef>")]
    parent: Option<String>,
    /// Maximum number of beads; 0 for all
    #[serde(default)]
    #[schemars(with = "field::Limit")]
    limit: usize,
}

impl Selection {
    pub fn filter(self) -> query::Filter {
        query::Filter { parent: self.parent, sort: self.order.sort(), ..self.filter.filter(self.limit) }
    }
}

/// The order of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Order {
    /// Sort key; equal beads are listed oldest first
    #[schemars(with = "field::Sort")]
    sort: SortKey,
    /// Reverse the order
    reverse: bool,
}

impl Order {
    pub fn sort(self) -> query::Sort {
        query::Sort { by: self.sort, reverse: self.reverse }
    }
}
