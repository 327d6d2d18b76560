//! What an import did, as text.

use std::fmt::Write;

use beads_core::import::{Notice, Summary};

use crate::escape::escape;
use crate::request::Output;

pub fn summary(out: &mut String, summary: &Summary, output: &Output) {
    if !output.quiet {
        let would = if summary.dry_run { "would be " } else { "" };
        let _ = writeln!(
            out,
            "{} lines: {} {would}created, {} updated, {} deleted, {} unchanged, {} skipped",
            summary.lines,
            summary.created,
            summary.updated,
            summary.tombstones,
            summary.unchanged + summary.repeated,
            summary.skipped.len(),
        );
        let _ = write!(out, "{} edges, {} notes", summary.edges, summary.notes);
        if summary.dangling > 0 {
            let _ = write!(out, "; {} edges lead to no bead and stay in metadata", summary.dangling);
        }
        out.push('\n');
        summary.notices.iter().for_each(|notice| line(out, "note", notice));
    }
    summary.skipped.iter().for_each(|notice| line(out, "skipped", notice));
}

fn line(out: &mut String, word: &str, notice: &Notice) {
    let id = notice.id.as_ref().map(|id| format!(" {id}:")).unwrap_or_default();
    let (file, reason) = (escape(&notice.file), escape(&notice.reason));
    let _ = writeln!(out, "{word} {file}:{}:{id} {reason}", notice.line);
}
