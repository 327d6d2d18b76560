//! Whether the store is set up for programs that look for a `.beads` directory.

use beads_engine::place::Kind;
use beads_store::GitRepository;
use serde_json::Value;

use super::Examined;
use super::finding::warning;

/// Reports settings that such programs need, and a private store that hides the repository's.
pub fn check(examined: &Examined) -> Vec<Value> {
    let place = examined.place;
    let mut findings = Vec::new();
    if place.beads_dir().join("metadata.json").is_file() && examined.setting("json.dialect").is_none() {
        findings.push(warning(
            "clients_not_set_up",
            "this work tree has .beads/metadata.json, but this clone is not set up for the programs that read it; \
             run bd init --compat",
        ));
    }
    if let Some(path) = examined.setting("export.path")
        && place.kind == Kind::Repository
        && GitRepository::open(&place.git_dir)
            .and_then(|git| git.tracks(&place.home().join(path)))
            .unwrap_or(false)
    {
        findings.push(warning(
            "export_tracked",
            format!("{path} is tracked by git, so bd does not export to it; run git rm --cached {path}"),
        ));
    }
    if let Some(work_tree) = &place.inside {
        let (store, root) = (place.git_dir.display(), work_tree.display());
        let directory = place.git_dir.parent().unwrap_or(&place.git_dir).display();
        findings.push(warning(
            "private_store",
            format!(
                "the private store {store} is used instead of the store of the repository {root}; to use the latter, import \
                 the beads with bd import --from private-store {directory}, then move {store} away"
            ),
        ));
    }
    findings
}
