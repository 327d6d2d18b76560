//! Where work that was done twice can be found, so that it can be thrown away.

use crate::{Actor, Bead, Catalog, EVIDENCE, Field, Lineage, Status};

/// The branches and commits of lost work.
#[derive(Debug, Default)]
pub(super) struct LostBranches {
    pub branches: Vec<String>,
    pub commits: Vec<String>,
}

impl Catalog {
    /// Returns the branches that the losing closes of a bead name, and the commits that the losing actors gave
    /// as evidence. The branch and the commits of the work that counts are left out.
    pub(super) fn lost_branches(&self, lineage: &Lineage, bead: &Bead, by: &[Actor]) -> LostBranches {
        let kept_by = match bead.status.value.status {
            Status::Closed => Some(bead.status.mark.by()),
            _ => bead.claim.assignee.as_ref(),
        };
        let kept_branch = bead.value_json(Field::Status)["closed_on_branch"].as_str().map(str::to_owned);
        let conflicts = self.state().conflicts().values();
        let closes = conflicts.filter(|one| one.bead == *lineage && one.field == Field::Status);
        let named = closes.filter_map(|one| Some(one.value.get("closed_on_branch")?.as_str()?.to_owned()));
        let mut branches: Vec<String> =
            named.filter(|branch| !branch.is_empty() && Some(branch) != kept_branch.as_ref()).collect();
        let notes = bead.notes_in_order().into_iter();
        let evidence = notes.filter(|note| note.kind.as_ref().is_some_and(|kind| kind.as_str() == EVIDENCE));
        let (kept, lost): (Vec<_>, Vec<_>) =
            evidence.partition(|note| kept_by == Some(&note.author) || !by.contains(&note.author));
        let commit = |content: &str| content.strip_prefix("commit:").map(|commit| commit.trim().to_owned());
        let kept: Vec<String> = kept.iter().filter_map(|note| commit(note.content.as_str())).collect();
        let lost = lost.iter().filter_map(|note| commit(note.content.as_str()));
        let mut commits: Vec<String> = lost.filter(|commit| !kept.contains(commit)).collect();
        for list in [&mut branches, &mut commits] {
            list.sort();
            list.dedup();
        }
        LostBranches { branches, commits }
    }
}
