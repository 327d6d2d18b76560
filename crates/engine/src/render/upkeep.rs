//! Answers about the health of a store, in the shapes that programs written for the Go `bd` ask for.

use std::fmt::Write;
use std::path::PathBuf;

use beads_core::query::{Finding, Severity};
use beads_core::{BeadId, EdgeKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::escape::escape;

/// What `repair-deps` found, and how many of them it removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrphansAnswer {
    pub orphans_found: usize,
    pub orphans: Vec<OrphanAnswer>,
    pub fixed: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct OrphanAnswer {
    pub issue_id: BeadId,
    pub depends_on_id: BeadId,
    #[serde(rename = "type")]
    pub dependency_type: &'static str,
    pub kind: EdgeKind,
    /// `deleted`, or `unknown` for an id that no bead ever held here.
    pub reason: &'static str,
}

/// What `doctor` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorAnswer {
    pub overall_ok: bool,
    pub checks: Vec<CheckAnswer>,
    /// Dependencies that were removed because an end is gone.
    pub fixed: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckAnswer {
    /// What is looked at.
    pub name: &'static str,
    /// `ok`, `warning` or `error`.
    pub status: &'static str,
    pub message: String,
    /// As `bd validate` tells them.
    #[schemars(with = "Vec<Finding>")]
    pub findings: Vec<serde_json::Value>,
}

/// What `migrate` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MigrationAnswer {
    pub current_version: u64,
    pub latest_version: u64,
    pub needs_migration: bool,
    pub registered_migrations: Vec<String>,
    pub warnings: Vec<String>,
    pub issue_count: u64,
    /// The store of the earlier implementation that was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOverAnswer>,
}

/// A store of the earlier implementation that was replaced, and what came of its beads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TakenOverAnswer {
    /// The commits that were replaced.
    pub replaced: Vec<String>,
    /// The references under which they are kept.
    pub backups: Vec<String>,
    pub commit: String,
    /// The remote has it too.
    pub pushed: bool,
    pub import: beads_core::import::Summary,
}

/// What `info --schema` adds: what a bead consists of.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoreSchema {
    pub format_version: u64,
    pub files: Vec<&'static str>,
    pub fields: Vec<&'static str>,
    pub statuses: Vec<&'static str>,
    pub types: Vec<&'static str>,
    pub dependency_kinds: Vec<&'static str>,
    /// A few ids, oldest first.
    pub sample_ids: Vec<String>,
}

/// The word for the worst of some findings, told by their severities.
pub fn status_word(worst: Option<Severity>) -> &'static str {
    match worst {
        None | Some(Severity::Info) => "ok",
        Some(Severity::Warning) => "warning",
        Some(Severity::Error) => "error",
    }
}

pub fn orphans(out: &mut String, answer: &OrphansAnswer) {
    for orphan in &answer.orphans {
        let OrphanAnswer { issue_id, depends_on_id, kind, reason, .. } = orphan;
        let _ = writeln!(out, "{issue_id} -> {depends_on_id} ({kind}): {reason}");
    }
    let _ = writeln!(out, "{} found, {} removed", answer.orphans_found, answer.fixed);
}

/// `bd uninstall`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct UninstallAnswer {
    /// What was removed.
    pub store: PathBuf,
    /// How many beads it held.
    pub beads: usize,
    /// The ref in this repository that keeps them.
    pub backup: Option<String>,
    /// Where a private store was moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<PathBuf>,
    /// The ref on the remote that keeps the store that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_backup: Option<String>,
    pub dry_run: bool,
}

pub(super) fn uninstalled(out: &mut String, answer: &UninstallAnswer) {
    let (would, store) = (if answer.dry_run { "would remove" } else { "removed" }, answer.store.display());
    let _ = writeln!(out, "{would} {} with {} beads", escape(&store.to_string()), answer.beads);
    if let Some(backup) = &answer.backup {
        let _ = writeln!(out, "backup: {backup}");
    }
    if let Some(moved) = &answer.moved {
        let _ = writeln!(out, "backup: {}", escape(&moved.display().to_string()));
    }
    if let Some(backup) = &answer.remote_backup {
        let _ = writeln!(out, "backup on the remote: {backup}");
    }
}
