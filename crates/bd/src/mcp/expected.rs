//! Strict targeting: a caller that says which bead it means, so that nothing happens to another one.

use beads_engine::failure::{Code, Failure};
use beads_engine::request::Query;
use serde_json::{Value, json};

use super::portal::Caller;
use super::target;

/// The bead that must be meant, as the caller names it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected(Option<Value>);

impl Expected {
    /// `strict_targeting` makes `expected_target_id` obligatory.
    pub fn new(named: Option<Value>, strict: bool) -> Result<Self, Failure> {
        if strict && named.is_none() {
            let message = "strict targeting needs the id of the bead that is meant";
            return Err(Failure::new(Code::StrictTargeting, message));
        }
        Ok(Self(named))
    }

    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Whether this bead is the one.
    pub fn check(&self, id: &str, caller: Caller<'_>) -> Result<(), Failure> {
        let Some(named) = &self.0 else { return Ok(()) };
        let expected = target::reference(caller.session, caller.actor, named)?;
        if expected == id {
            return Ok(());
        }
        // One of them may be the beginning of an id.
        let whole = |id: &str| -> Result<String, Failure> {
            let shown = caller.session.query(caller.actor, Query::Show { ids: vec![id.to_owned()] })?;
            Ok(shown[0]["id"].as_str().unwrap_or_default().to_owned())
        };
        let id = whole(id)?;
        // What cannot be found is not this one.
        if whole(&expected).is_ok_and(|expected| expected == id) {
            return Ok(());
        }
        let message = format!("the target is {id}, not {expected}; nothing was changed");
        let details = json!({"target": id, "expected": expected});
        Err(Failure::new(Code::ExpectedTargetMismatch, message).with(details))
    }
}
