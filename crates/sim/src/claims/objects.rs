//! The values of claim refs in a simulated repository.

use beads_core::canonical::hex;
use beads_core::{Bead, ClaimRecord, Lineage, find_bead};
use beads_store::{ClaimObjects, CommitId, Repository, Result};
use sha2::{Digest, Sha256};

use crate::repository::SimRepository;

impl ClaimObjects for SimRepository {
    fn write_claim(&self, record: &ClaimRecord, parent: Option<&str>) -> Result<CommitId> {
        let mut hash = Sha256::new();
        hash.update(record.encode());
        hash.update(parent.unwrap_or_default());
        let commit = hex(&hash.finalize());
        self.keep_claim(&commit, record.clone());
        Ok(commit)
    }

    fn bead_of(&self, commit: &str, lineage: &Lineage) -> Result<Option<Bead>> {
        let snapshot = self.snapshot(commit)?;
        Ok(find_bead(&snapshot.state, &snapshot.tombstones, lineage).map(|(_, bead)| bead))
    }
}
