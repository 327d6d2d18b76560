//! Strict targeting: the caller names the bead it expects, so that no other bead is changed by mistake.

use beads_engine::failure::{Code, Failure};
use beads_engine::request::Query;
use serde_json::{Value, json};

use super::portal::Caller;
use super::target;

/// The expected bead, as the caller names it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected(Option<Value>);

impl Expected {
    /// Creates the check. `strict_targeting` makes `expected_target_id` required.
    pub fn new(named: Option<Value>, strict: bool) -> Result<Self, Failure> {
        if strict && named.is_none() {
            let message = "strict_targeting requires expected_target_id";
            return Err(Failure::new(Code::StrictTargeting, message));
        }
        Ok(Self(named))
    }

    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Checks that the bead is the expected one.
    pub fn check(&self, id: &str, caller: Caller<'_>) -> Result<(), Failure> {
        let Some(named) = &self.0 else { return Ok(()) };
        let expected = target::reference(caller.session, caller.actor, named)?;
        if expected == id {
            return Ok(());
        }
        // Either may be an abbreviated id.
        let whole = |id: &str| -> Result<String, Failure> {
            let shown = caller.session.query(caller.actor, Query::Show { ids: vec![id.to_owned()] })?;
            Ok(shown[0]["id"].as_str().unwrap_or_default().to_owned())
        };
        let id = whole(id)?;
        // An unknown bead is not this one.
        if whole(&expected).is_ok_and(|expected| expected == id) {
            return Ok(());
        }
        let message = format!("the target is {id}, not {expected}; nothing was changed");
        let details = json!({"target": id, "expected": expected});
        Err(Failure::new(Code::ExpectedTargetMismatch, message).with(details))
    }
}
