//! Whether the files that `bd setup` wrote are complete and current.

use std::path::Path;

use beads_engine::place::Place;
use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};
use crate::setup::{Client, Target, configured_clients, targets};

/// Reports configured coding agents whose files differ from what `bd setup` writes.
pub fn check(examined: &Examined) -> Vec<Value> {
    let Ok(here) = examined.globals.directory() else { return Vec::new() };
    let root = Place::repository_around(&here).map_or(here, |(_, work_tree)| work_tree);
    findings(&root)
}

fn findings(root: &Path) -> Vec<Value> {
    let clients = match configured_clients(root) {
        Ok(clients) => clients,
        Err(failure) => return vec![warning("agent_files_unreadable", failure.message)],
    };
    if clients.is_empty() {
        return vec![info(
            "no_agent_set_up",
            "no coding agent is set up in this work tree; run bd setup claude (or codex, cursor, … see bd setup --help)",
        )];
    }
    clients.iter().filter_map(|client| outdated(*client, root, &clients)).collect()
}

fn outdated(client: Client, root: &Path, clients: &[Client]) -> Option<Value> {
    let is_outdated = |target: &Target| !target.is_current(clients).unwrap_or(false);
    let files: Vec<String> =
        targets(client, root).iter().filter(|target| is_outdated(target)).map(Target::name).collect();
    let name = client.name();
    let message =
        || format!("{} differ from what bd setup {name} writes; run bd setup {name}", files.join(", "));
    (!files.is_empty()).then(|| warning("agent_files_outdated", message()))
}
