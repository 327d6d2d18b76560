//! Checks a delta that another machine wrote.

use crate::snapshot::FORMAT_VERSION;
use crate::{Delta, Endpoint, Error, Lineage, Patch, Result};

impl Delta {
    /// Fails if the delta says something that [`decode`](crate::Snapshot::decode) would refuse in the files of a
    /// remote. Joined, it would make a store that no program could read again, and every other machine with it.
    pub fn check_foreign(&self) -> Result<()> {
        let found = self.required_format();
        if found > FORMAT_VERSION {
            return Err(Error::NewerFormat { found, known: FORMAT_VERSION });
        }
        let ends = self.edges.keys().flat_map(|key| [&key.from, &key.to]).filter_map(Endpoint::lineage);
        let lineages = self.beads.keys().chain(ends).chain(self.conflicts.iter().map(|one| &one.bead));
        if let Some(long) = lineages.map(Lineage::birth_id).find(|id| !id.is_valid_birth_id()) {
            return Err(Error::invalid("delta", format!("the id {long} is too long")));
        }
        if self.prefix.as_ref().is_some_and(|prefix| prefix.mark.is_none() && *prefix != Default::default()) {
            return Err(Error::invalid("delta", "the prefix has no stamp"));
        }
        let deletions = self.beads.values().filter_map(|patch| patch.deletion.as_ref());
        if deletions.into_iter().any(|one| one.archived && !one.reason.is_empty()) {
            return Err(Error::invalid("delta", "an archived bead has no reason"));
        }
        for conflict in &self.conflicts {
            // A value that the register cannot hold could never be restored.
            Patch::from_json(conflict.field, &conflict.value, &conflict.lost)
                .map_err(|reason| Error::invalid("delta", reason))?;
        }
        Ok(())
    }
}
