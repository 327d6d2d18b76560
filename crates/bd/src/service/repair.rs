use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, RepairAnswer};
use crate::request::Request;

impl Service {
    /// A store that could be opened needs no repair.
    pub(super) fn repair(&mut self, _request: &Request, apply: bool) -> Result<Answer, Failure> {
        Ok(Answer::Repair(RepairAnswer { applied: apply, actions: Vec::new(), backup: None }))
    }
}
