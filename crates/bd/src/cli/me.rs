//! `--assignee me`, which means the acting actor.

use beads_core::op::Change;
use beads_core::query::Filter;
use beads_core::{Actor, Op};

use beads_engine::request::{Call, Query};

/// The name that stands for the acting actor.
pub const ME: &str = "me";

/// Replaces the assignee `me` with the acting actor.
pub fn replace(call: &mut Call, actor: &Actor) {
    match call {
        Call::Mutate(mutate) => mutate.ops.iter_mut().for_each(|op| replace_in_op(op, actor)),
        Call::Query(query) => {
            if let Some(filter) = filter_of(query) {
                replace_in_filter(filter, actor);
            }
        }
        Call::Wait { call, .. } => replace(call, actor),
        Call::UnclaimAll { assignee, .. } | Call::ReclaimExpired { assignee, .. } => {
            replace_name(assignee, actor);
        }
        _ => {}
    }
}

fn replace_in_op(op: &mut Op, actor: &Actor) {
    match op {
        Op::Create(create) => replace_name(&mut create.assignee, actor),
        Op::Update(update) => match &mut update.assignee {
            Some(Change::Set(name)) if name.as_str() == ME => name.clone_from(actor),
            _ => {}
        },
        Op::ClaimNext(next) => replace_in_filter(&mut next.filter.filter, actor),
        _ => {}
    }
}

fn replace_in_filter(filter: &mut Filter, actor: &Actor) {
    replace_name(&mut filter.assignee, actor);
}

fn replace_name(name: &mut Option<Actor>, actor: &Actor) {
    if let Some(name) = name.as_mut().filter(|name| name.as_str() == ME) {
        name.clone_from(actor);
    }
}

fn filter_of(query: &mut Query) -> Option<&mut Filter> {
    match query {
        Query::List(filter)
        | Query::Forest(filter)
        | Query::Details(filter)
        | Query::Blocked(filter)
        | Query::Count { filter, .. } => Some(filter),
        Query::Ready(asked) | Query::Explain(asked) => Some(&mut asked.filter),
        _ => None,
    }
}
