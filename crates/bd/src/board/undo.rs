//! The undo of the change that the page shows. The engine undoes the last operation of an actor, whatever it was. The
//! person may have done something else in the meantime, so the board first compares that operation with the change.

use beads_core::Timestamp;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Call, Query};
use serde_json::Value;
use serde_json::value::RawValue;

use super::recent::Recent;
use super::store::StoreClient;

/// The change to undo.
#[derive(Debug)]
pub enum Change {
    /// A change to a bead, which was last changed then.
    Bead { id: String, at_ms: u64 },
    /// A removed dependency.
    Edge { from: String, to: String },
}

impl Change {
    /// Returns the change that a page means. `updated_at` is the time of the bead in the answer to the write.
    pub fn new(id: String, updated_at: Option<&str>, to: Option<String>) -> Result<Self, Failure> {
        match (updated_at, to) {
            (_, Some(to)) => Ok(Self::Edge { from: id, to }),
            (Some(time), None) => Ok(Self::Bead { id, at_ms: time.parse::<Timestamp>()?.ms() }),
            (None, None) => Err(Failure::invalid(format!(
                "the request does not say which change to {id} to undo; reload the page. Nothing was changed"
            ))),
        }
    }

    /// Fails unless the caller's last operation is this change and nothing has changed since.
    fn check(&self, store: &StoreClient, planned: &Value, recent: &Recent) -> Result<(), Failure> {
        match self {
            Self::Bead { id, at_ms } => {
                if !list(planned, "beads").iter().any(|bead| bead["id"] == *id) {
                    return Err(other_change(id));
                }
                let now_ms = updated_ms(store, id)?;
                if now_ms.map(|now_ms| recent.versions().resolve(id, now_ms)) != Some(*at_ms) {
                    return Err(refusal(format!("{id} has changed since; nothing was undone")));
                }
            }
            Self::Edge { from, to } => {
                let is_it = |edge: &Value| {
                    edge["issue_id"] == *from
                        && edge["depends_on_id"] == *to
                        && edge["kind"] == "blocks"
                        && edge["status"] == "added"
                };
                let edges = list(planned, "dependencies");
                if !list(planned, "beads").is_empty() || edges.len() != 1 || !edges.iter().all(is_it) {
                    return Err(other_change(&format!("the dependency of {from} on {to}")));
                }
            }
        }
        Ok(())
    }
}

/// Undoes a change of the caller.
pub fn undo(
    store: &StoreClient,
    recent: &Recent,
    change: &Change,
    request_id: String,
) -> Result<Box<RawValue>, Failure> {
    let planned: Value = store.value(Call::Undo { dry_run: true, redo: false, skip: false })?;
    change.check(store, &planned, recent)?;
    let answer = store.ask(Call::Undo { dry_run: false, redo: false, skip: false }, Some(request_id))?;
    let undone: Value = serde_json::from_str(answer.get()).map_err(Failure::internal)?;
    if !is_same(&planned, &undone) {
        return Err(take_back(store));
    }
    if let Change::Bead { id, at_ms } = change
        && let Ok(Some(now_ms)) = updated_ms(store, id)
    {
        recent.versions().undo(id, *at_ms, now_ms);
    }
    Ok(answer)
}

/// Redoes what was undone by mistake: the caller did something else between the dry run and the undo.
fn take_back(store: &StoreClient) -> Failure {
    let redone = store.ask(Call::Undo { dry_run: false, redo: true, skip: false }, None);
    refusal(match redone {
        Ok(_) => "you changed something else at the same time; nothing was undone".to_owned(),
        Err(failure) => format!(
            "you changed something else at the same time, and that was undone; bd undo --redo brings it back: {}",
            failure.message
        ),
    })
}

/// Returns when a bead was last changed; `None` if it does not exist or was deleted.
pub fn updated_ms(store: &StoreClient, id: &str) -> Result<Option<u64>, Failure> {
    let query = Query::Overview { ids: Some(vec![id.to_owned()]), closed_since: None };
    let found: Value = store.value(Call::query(query))?;
    Ok(found[0]["updated"].as_u64())
}

/// Returns whether an undo did what its dry run said.
fn is_same(planned: &Value, undone: &Value) -> bool {
    ["beads", "dependencies"].iter().all(|name| planned[name] == undone[name])
}

fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn other_change(what: &str) -> Failure {
    refusal(format!("your last change was not to {what}; bd undo --dry-run shows it. Nothing was undone"))
}

fn refusal(message: String) -> Failure {
    Failure::new(Code::Conflict, message)
}
