//! Reports what `close` and `sync` did. On a terminal the report is the answer. In a pipe it goes to standard
//! error, because contract 1 keeps their standard output empty.

use std::fmt::Write;

use beads_core::counted;

use super::answer::{Answer, SyncAnswer};
use super::done::Done;
use super::style::Style;
use crate::escape::escape;
use crate::request::Output;

/// Returns the report for standard error; empty if standard output has it.
pub fn report(answer: &Answer, output: &Output) -> String {
    let mut out = String::new();
    if !Style::new(output).is_piped() {
        return out;
    }
    match answer {
        Answer::One(one) => closed(&mut out, [one.as_ref()]),
        Answer::Many(many) => closed(&mut out, many),
        Answer::ClosedAndClaimed(both) => closed(&mut out, &both.closed),
        Answer::Batch(batch) => closed(&mut out, &batch.results),
        Answer::Synced(sync) => synced(&mut out, sync),
        _ => {}
    }
    out
}

fn closed<'a>(out: &mut String, done: impl IntoIterator<Item = &'a Done>) {
    // Standard error may be a terminal or a log; it gets plain text.
    let output = Output::default();
    let plain = Style::new(&output);
    for one in done.into_iter().filter(|one| one.verb == "closed" && !one.unchanged) {
        if let Some(bead) = &one.bead {
            let would = if one.dry_run { "would have " } else { "" };
            let _ = writeln!(out, "{would}closed {}: {}", bead.id, escape(bead.title.as_str()));
            unblocked(out, one, plain);
        }
    }
}

/// Writes the beads that a close unblocked.
pub fn unblocked(out: &mut String, one: &Done, style: Style) {
    for waited in &one.unblocked {
        let title = escape(waited.title.as_str());
        let _ = writeln!(out, "unblocked {}: {title}", style.id(waited.id.as_str()));
    }
}

/// Writes the result of a sync.
pub fn synced(out: &mut String, synced: &SyncAnswer) {
    let SyncAnswer { remote, joined, pulled, pushed, .. } = synced;
    let what = match (remote, joined, pulled, pushed) {
        (None, ..) => "Saved; there is no remote".to_owned(),
        (Some(remote), Some(beads), _, pushed) => {
            let and_pushed = if *pushed { " and pushed" } else { "" };
            format!("Joined the store of {remote}{and_pushed}: {}", counted(*beads, "bead"))
        }
        (Some(remote), None, true, true) => format!("Merged with {remote} and pushed"),
        (Some(remote), None, true, false) => format!("Pulled from {remote}"),
        (Some(remote), None, false, true) => format!("Pushed to {remote}"),
        (Some(remote), None, false, false) => format!("Already up to date with {remote}"),
    };
    let _ = writeln!(out, "{}", escape(&what));
    if synced.conflicts > 0 {
        let (values, were) =
            (counted(synced.conflicts, "value"), if synced.conflicts == 1 { "was" } else { "were" });
        let _ = writeln!(out, "{values} lost to concurrent writes and {were} kept; run bd conflicts list");
    }
}
