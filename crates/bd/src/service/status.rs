use beads_store::{REF, Repository};

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, StatusAnswer};

impl Service {
    pub(super) fn status(&self) -> Result<Answer, Failure> {
        let now_ms = self.replica.now_ms();
        let unsaved = self.replica.unsaved();
        Ok(Answer::Status(Box::new(StatusAnswer {
            summary: self.replica.catalog().summary(now_ms)?,
            prefix: self.replica.catalog().state().prefix().prefix.to_string(),
            reference: REF,
            commit: self.repository.tip()?,
            unsaved: unsaved.records,
            oldest_unsaved_ms: unsaved.oldest_ms.map(|oldest| now_ms.saturating_sub(oldest)),
            position: self.replica.position(),
            git_dir: self.place.git_dir.clone(),
        })))
    }
}
