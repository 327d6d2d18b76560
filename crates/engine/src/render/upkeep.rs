//! Answers about the health of a store, in the form that programs written for the Go `bd` expect.

use std::fmt::Write;
use std::path::PathBuf;

use beads_core::query::{Finding, Severity};
use beads_core::{BeadId, EdgeKind, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escape::escape;

/// The output of `repair-deps`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrphansAnswer {
    /// How many orphaned dependencies were found.
    pub orphans_found: usize,
    /// The orphaned dependencies.
    pub orphans: Vec<OrphanAnswer>,
    /// How many were removed.
    pub fixed: usize,
}

/// A dependency with a missing end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrphanAnswer {
    /// The bead that depends on the other one.
    pub issue_id: BeadId,
    /// The bead it depends on.
    pub depends_on_id: BeadId,
    /// The kind as clients of the Go `bd` name it.
    #[serde(rename = "type")]
    pub dependency_type: &'static str,
    /// The kind of the dependency.
    pub kind: EdgeKind,
    /// `deleted`, or `unknown` for an id that no local bead ever had.
    pub reason: &'static str,
}

/// The output of `archive`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ArchivedAnswer {
    /// The ids of the archived beads.
    pub archived: Vec<String>,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The time before which the beads were closed.
    pub closed_before: String,
}

/// Writes how many beads were archived, and their ids.
pub fn archived(out: &mut String, answer: &ArchivedAnswer) {
    let (count, before) = (answer.archived.len(), &answer.closed_before);
    if count == 0 {
        let _ = writeln!(out, "no bead to archive: none was closed before {before}");
        return;
    }
    let what = if count == 1 { "bead" } else { "beads" };
    let verb = if answer.dry_run { "would archive" } else { "archived" };
    let _ = writeln!(out, "{verb} {count} {what} closed before {before}:");
    for id in &answer.archived {
        let _ = writeln!(out, "  {id}");
    }
    if !answer.dry_run {
        let _ = writeln!(
            out,
            "the next sync moves the content to branch beads/archive; bd list --archive reads it"
        );
    }
}

/// The output of `doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorAnswer {
    /// Whether no check found an error.
    pub overall_ok: bool,
    /// The checks.
    pub checks: Vec<CheckAnswer>,
    /// How many orphaned dependencies were removed.
    pub fixed: u64,
}

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckAnswer {
    /// The name of the check.
    pub name: &'static str,
    /// `ok`, `warning` or `error`.
    pub status: &'static str,
    /// The result as a sentence.
    pub message: String,
    /// The findings, in the form of `bd validate`.
    #[schemars(with = "Vec<Finding>")]
    pub findings: Vec<serde_json::Value>,
}

/// The output of `migrate`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MigrationAnswer {
    /// The version of the store's file format.
    pub current_version: u64,
    /// The latest version this program supports.
    pub latest_version: u64,
    /// Whether a migration is needed.
    pub needs_migration: bool,
    /// The known migrations.
    pub registered_migrations: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The number of beads.
    pub issue_count: u64,
    /// The store of the earlier implementation that was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOverAnswer>,
}

/// A replaced store of the earlier implementation, and the result of importing its beads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TakenOverAnswer {
    /// The commits that were replaced.
    pub replaced: Vec<String>,
    /// The refs that keep them.
    pub backups: Vec<String>,
    /// The new commit.
    pub commit: String,
    /// Whether it was pushed to the remote.
    pub pushed: bool,
    /// The result of the import.
    pub import: beads_core::import::Summary,
}

/// The output of `info --schema`: the data model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoreSchema {
    /// The version of the store's file format.
    pub format_version: u64,
    /// The files of a snapshot.
    pub files: Vec<&'static str>,
    /// The fields of a bead.
    pub fields: Vec<&'static str>,
    /// The statuses.
    pub statuses: Vec<&'static str>,
    /// The types.
    pub types: Vec<&'static str>,
    /// The kinds of dependencies.
    pub dependency_kinds: Vec<&'static str>,
    /// A few ids, oldest first.
    pub sample_ids: Vec<String>,
}

/// Returns the status of a check, given the worst severity of its findings.
pub fn status_word(worst: Option<Severity>) -> &'static str {
    match worst {
        None | Some(Severity::Info) => "ok",
        Some(Severity::Warning) => "warning",
        Some(Severity::Error) => "error",
    }
}

/// Writes orphaned dependencies, one per line.
pub fn orphans(out: &mut String, answer: &OrphansAnswer) {
    for orphan in &answer.orphans {
        let OrphanAnswer { issue_id, depends_on_id, kind, reason, .. } = orphan;
        let _ = writeln!(out, "{issue_id} -> {depends_on_id} ({kind}): {reason}");
    }
    let _ = writeln!(out, "{} found, {} removed", answer.orphans_found, answer.fixed);
}

/// The output of `bd uninstall`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct UninstallAnswer {
    /// The directory that was removed.
    pub store: PathBuf,
    /// The number of beads in it.
    pub beads: usize,
    /// The ref in this repository that keeps them.
    pub backup: Option<String>,
    /// The new path of a private store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<PathBuf>,
    /// The ref on the remote that keeps the remote's store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_backup: Option<String>,
    /// Whether nothing was removed.
    pub dry_run: bool,
}

pub(super) fn uninstalled(out: &mut String, answer: &UninstallAnswer) {
    let (would, store) = (if answer.dry_run { "would remove" } else { "removed" }, answer.store.display());
    let _ = writeln!(out, "{would} {} with {}", escape(&store.to_string()), counted(answer.beads, "bead"));
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
