//! Renders the result of an import as text.

use std::fmt::Write;

use beads_core::counted;
use beads_core::import::{Comparison, Notice, Summary};
use serde_json::Value;

use crate::escape::escape;
use crate::request::Output;

/// How many notices of each kind are shown. The JSON answer and the report have all of them.
const SHOWN: usize = 20;

/// Longer values are truncated in the list of differences.
const VALUE_CHARS: usize = 60;

/// Writes the summary of an import.
pub fn summary(out: &mut String, summary: &Summary, output: &Output) {
    if !output.quiet {
        if let Some(found) = &summary.found {
            let _ = writeln!(out, "found {}", escape(found));
        }
        write_balance(out, summary);
        for warning in &summary.warnings {
            let _ = writeln!(out, "warning: {}", escape(warning));
        }
        write_notices(out, "note", &summary.notices);
        write_notices(out, "edge skipped", &summary.edges_skipped);
        write_notices(out, "note skipped", &summary.notes_skipped);
        write_notices(out, "deletion skipped", &summary.collisions_skipped);
        write_stuck(out, summary);
    }
    summary.skipped.iter().for_each(|notice| write_notice(out, "skipped", notice));
    if summary.dry_run && summary.found.is_some() && !output.quiet {
        out.push_str("nothing was changed; run bd import --yes to import\n");
    }
}

/// Writes the counts. Each input line is counted exactly once in the first two lines.
fn write_balance(out: &mut String, summary: &Summary) {
    let would = if summary.dry_run { "would be " } else { "" };
    let _ = writeln!(
        out,
        "{}: {} {would}created, {} updated, {} deleted, {} unchanged, {} refused",
        counted(summary.lines, "line"),
        summary.created,
        summary.updated,
        summary.tombstones,
        summary.unchanged,
        summary.skipped.len(),
    );
    let others = [
        (summary.repeated, "for a bead of another line"),
        (summary.attached, "with edges or notes of other lines"),
        (summary.collisions, "for a bead that lost its id"),
        (summary.collisions_skipped.len(), "for a bead that lost its id, skipped"),
        (summary.headers, "describing the file"),
    ];
    write_counts(out, &others);
    let _ = writeln!(
        out,
        "{}, {} known, {} skipped; {}, {} skipped",
        counted(summary.edges, "edge"),
        summary.edges_unchanged,
        summary.edges_skipped.len(),
        counted(summary.notes, "note"),
        summary.notes_skipped.len(),
    );
    let more = [
        (summary.words, "custom statuses or types kept"),
        (summary.zero_priorities, "priorities ignored because they are 0"),
        (summary.leases, "claims with a fresh lease"),
    ];
    write_counts(out, &more);
}

fn write_counts(out: &mut String, counts: &[(usize, &str)]) {
    let counted = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = counted.map(|(count, what)| format!("{count} {what}")).collect();
    if !parts.is_empty() {
        let _ = writeln!(out, "{}", parts.join(", "));
    }
}

/// Writes the beads that are in progress but not claimed.
fn write_stuck(out: &mut String, summary: &Summary) {
    if summary.stuck.is_empty() {
        return;
    }
    let count = summary.stuck.len();
    let ids: Vec<_> = summary.stuck.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    let _ = writeln!(
        out,
        "{count} in progress without an assignee, so never ready: {}{more}; run bd update ID --status open to free one",
        ids.join(", ")
    );
}

fn write_notices(out: &mut String, word: &str, notices: &[Notice]) {
    notices.iter().take(SHOWN).for_each(|notice| write_notice(out, word, notice));
    if notices.len() > SHOWN {
        let more = notices.len() - SHOWN;
        let _ = writeln!(out, "{word}: {more} more; --json and --report FILE have all of them");
    }
}

fn write_notice(out: &mut String, word: &str, notice: &Notice) {
    let id = notice.id.as_ref().map(|id| format!(" {id}:")).unwrap_or_default();
    let (file, reason) = (escape(&notice.file), escape(&notice.reason));
    let _ = writeln!(out, "{word} {file}:{}:{id} {reason}", notice.line);
}

/// Writes the differences between a file and the store.
pub fn comparison(out: &mut String, comparison: &Comparison, output: &Output) {
    for difference in &comparison.differences {
        let (line, id) = (difference.line, escape(&difference.id));
        let _ = match &difference.field {
            Some(field) => writeln!(
                out,
                "line {line}: {id}: {}: {} in the file, {} here",
                escape(field),
                shown(&difference.file),
                shown(&difference.store)
            ),
            None => writeln!(out, "line {line}: {id}: not in the store"),
        };
    }
    comparison.skipped.iter().for_each(|notice| write_notice(out, "skipped", notice));
    if !output.quiet {
        let _ = writeln!(
            out,
            "{}: {} equal, {}, {} refused; {} only here",
            counted(comparison.lines, "line"),
            counted(comparison.equal, "bead"),
            counted(comparison.differences.len(), "difference"),
            counted(comparison.skipped.len(), "line"),
            counted(comparison.only_here.len(), "bead")
        );
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() {
        return "nothing".to_owned();
    }
    let text = value.to_string();
    let cut: String = text.chars().take(VALUE_CHARS).collect();
    let cut = if cut.len() < text.len() { format!("{cut}…") } else { cut };
    escape(&cut).into_owned()
}
