//! What an import did, as text.

use std::fmt::Write;

use beads_core::import::{Comparison, Notice, Summary};
use serde_json::Value;

use crate::escape::escape;
use crate::request::Output;

/// So many of each kind of remark are shown; the JSON answer and the report have all of them.
const SHOWN: usize = 20;

/// A value longer than this is cut where differences are shown.
const VALUE_CHARS: usize = 60;

pub fn summary(out: &mut String, summary: &Summary, output: &Output) {
    if !output.quiet {
        if let Some(found) = &summary.found {
            let _ = writeln!(out, "found {}", escape(found));
        }
        balance(out, summary);
        for warning in &summary.warnings {
            let _ = writeln!(out, "warning: {}", escape(warning));
        }
        some(out, "note", &summary.notices);
        some(out, "edge skipped", &summary.edges_skipped);
        some(out, "note skipped", &summary.notes_skipped);
        some(out, "deletion skipped", &summary.collisions_skipped);
        stuck(out, summary);
    }
    summary.skipped.iter().for_each(|notice| line(out, "skipped", notice));
    if summary.dry_run && summary.found.is_some() && !output.quiet {
        out.push_str("nothing was changed; bd import --yes does this\n");
    }
}

/// Every line read is in exactly one of the counts of the first line or of the second.
fn balance(out: &mut String, summary: &Summary) {
    let would = if summary.dry_run { "would be " } else { "" };
    let _ = writeln!(
        out,
        "{} lines: {} {would}created, {} updated, {} deleted, {} unchanged, {} refused",
        summary.lines,
        summary.created,
        summary.updated,
        summary.tombstones,
        summary.unchanged,
        summary.skipped.len(),
    );
    let others = [
        (summary.repeated, "about a bead of another line"),
        (summary.attached, "with edges or notes of other lines"),
        (summary.collisions, "about a bead that lost its id"),
        (summary.collisions_skipped.len(), "about a bead that lost its id, skipped"),
        (summary.headers, "about the file"),
    ];
    list(out, &others);
    let _ = writeln!(
        out,
        "{} edges, {} known, {} skipped; {} notes, {} skipped",
        summary.edges,
        summary.edges_unchanged,
        summary.edges_skipped.len(),
        summary.notes,
        summary.notes_skipped.len(),
    );
    let more = [
        (summary.words, "words of another tracker kept"),
        (summary.zero_priorities, "priorities left out because they are 0"),
        (summary.leases, "claims with a fresh lease"),
    ];
    list(out, &more);
}

fn list(out: &mut String, counts: &[(usize, &str)]) {
    let counted = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = counted.map(|(count, what)| format!("{count} {what}")).collect();
    if !words.is_empty() {
        let _ = writeln!(out, "{}", words.join(", "));
    }
}

/// Beads that are in progress and that nobody works on.
fn stuck(out: &mut String, summary: &Summary) {
    if summary.stuck.is_empty() {
        return;
    }
    let count = summary.stuck.len();
    let ids: Vec<_> = summary.stuck.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    let _ = writeln!(
        out,
        "{count} in progress without an assignee, so never ready: {}{more}; bd update ID --status open frees one",
        ids.join(", ")
    );
}

fn some(out: &mut String, word: &str, notices: &[Notice]) {
    notices.iter().take(SHOWN).for_each(|notice| line(out, word, notice));
    if notices.len() > SHOWN {
        let more = notices.len() - SHOWN;
        let _ = writeln!(out, "{word}: {more} more; --json and --report FILE have all of them");
    }
}

fn line(out: &mut String, word: &str, notice: &Notice) {
    let id = notice.id.as_ref().map(|id| format!(" {id}:")).unwrap_or_default();
    let (file, reason) = (escape(&notice.file), escape(&notice.reason));
    let _ = writeln!(out, "{word} {file}:{}:{id} {reason}", notice.line);
}

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
    comparison.skipped.iter().for_each(|notice| line(out, "skipped", notice));
    if !output.quiet {
        let _ = writeln!(
            out,
            "{} lines: {} beads equal, {} differences, {} lines refused; {} beads only here",
            comparison.lines,
            comparison.equal,
            comparison.differences.len(),
            comparison.skipped.len(),
            comparison.only_here.len()
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
