use beads_core::Op;
use beads_core::op::DepRemove;
use beads_core::query::Orphan;

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::{Answer, OrphanAnswer, OrphansAnswer};
use crate::request::{Mutate, Request};

impl Service {
    /// Lists edges from or to beads that do not exist. With `fix`, removes those that a deletion left behind.
    /// An edge to an unknown id is kept, because its bead may still arrive from another machine.
    pub(super) fn repair_deps(
        &mut self,
        request: &Request,
        fix: bool,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let orphans = self.replica.catalog().orphans();
        let left_behind = orphans.iter().filter(|orphan| fix && orphan.deleted);
        let remove = |orphan: &Orphan| {
            let (from, to) = (orphan.from.to_string(), orphan.to.to_string());
            Op::DepRemove(DepRemove { from, to, kind: orphan.kind })
        };
        let ops: Vec<Op> = left_behind.map(remove).collect();
        let fixed = ops.len();
        if fixed > 0 {
            self.mutate(request, &Mutate { ops, many: true, dry_run: false }, dialect)?;
        }
        let answer = |orphan: Orphan| OrphanAnswer {
            issue_id: orphan.from,
            depends_on_id: orphan.to,
            dependency_type: orphan.kind.client_name(),
            kind: orphan.kind,
            reason: if orphan.deleted { "deleted" } else { "unknown" },
        };
        Ok(Answer::Orphans(OrphansAnswer {
            orphans_found: orphans.len(),
            orphans: orphans.into_iter().map(answer).collect(),
            fixed,
        }))
    }
}
