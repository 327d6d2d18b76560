//! Clones that do not have everything: shallow, single-branch.

use beads_engine::place::Kind;
use beads_store::{GitRepository, default_remote};
use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};

/// Reports what such a clone misses.
pub fn check(examined: &Examined) -> Vec<Value> {
    let place = examined.place;
    if place.kind == Kind::Private {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if std::fs::metadata(place.git_dir.join("shallow")).is_ok_and(|file| file.len() > 0) {
        findings.push(info(
            "shallow_clone",
            "this clone is shallow, so bd log, blame and diff may not reach the oldest changes of the beads; run \
             git fetch --unshallow to get them",
        ));
    }
    let Ok(repository) = GitRepository::open(&place.git_dir) else { return findings };
    if repository.has_conflicting_branch() {
        findings.push(warning(
            "conflicting_branch",
            "a branch named beads exists, so git cannot create the branch beads/store; run git branch -m beads OTHER-NAME",
        ));
    }
    if let Ok(Some(remote)) = default_remote(&place.git_dir)
        && !repository.is_fetched_by_default(&remote)
    {
        findings.push(info(
            "single_branch_clone",
            format!(
                "git fetch does not fetch beads/store in this clone (single-branch); bd fetches it itself, so beads are \
                 complete, but to see the branch in git run git config --add remote.{remote}.fetch \
                 +refs/heads/beads/*:refs/remotes/{remote}/beads/*"
            ),
        ));
    }
    findings
}
