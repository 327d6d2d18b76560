//! Renders conflicts as text.

use std::fmt::Write;

use super::answer::{ConflictAnswer, LostClaim};
use super::style::Style;
use super::value::value;
use crate::escape::escape;
use crate::request::Output;

/// How much of a conflict's id is shown: `CONFLICT-` and eight digits, which commands accept.
const SHOWN_ID: usize = 17;

/// The most beads that one line names.
const MAX_NAMED: usize = 5;

/// Writes conflicts. Lost claims are one line with their number, except with `--verbose`: a worker that lost
/// one learned it at once.
pub fn list(out: &mut String, conflicts: &[ConflictAnswer], output: &Output, style: Style) {
    let is_claim = |conflict: &&ConflictAnswer| conflict.field == Some("assignee") && !output.verbose;
    for conflict in conflicts.iter().filter(|conflict| !is_claim(conflict)) {
        one(out, conflict, style);
    }
    let claims: Vec<&str> = conflicts.iter().filter(is_claim).map(|lost| lost.bead.as_str()).collect();
    if !claims.is_empty() {
        let _ = writeln!(out, "{}; run bd conflicts -v to see them", counted(&claims));
    }
}

/// Writes one conflict.
pub fn one(out: &mut String, one: &ConflictAnswer, style: Style) {
    let id = style.id(one.bead.as_str());
    if let Some(born) = &one.born {
        let _ = writeln!(
            out,
            "{id}  was created as {born} by {}; an older bead holds that id",
            escape(one.by.as_str())
        );
        return;
    }
    let field = one.field.unwrap_or_default();
    let known = beads_core::Field::ALL.iter().find(|known| known.name() == field);
    let value = |json: &serde_json::Value| {
        let text =
            known.map_or_else(|| escape(&json.to_string()).into_owned(), |field| value(*field, json, style));
        style.fit(&text, 24)
    };
    // The winner may have been overwritten since.
    let (current, by) = match &one.current_by {
        Some(by) => ("now", Some(by)),
        None => ("won", one.won_by.as_ref()),
    };
    let _ = writeln!(
        out,
        "{}  {id} {}\n  lost  {} ({})\n  {current}   {} ({})",
        one.id.get(..SHOWN_ID).unwrap_or(&one.id),
        field,
        value(&one.value),
        escape(one.by.as_str()),
        value(&one.current),
        by.map(|by| escape(by.as_str()).into_owned()).unwrap_or_default(),
    );
}

/// Writes the claims that lost: one in full, several as a number.
pub fn lost_claims(out: &mut String, lost: &[LostClaim]) {
    match lost {
        [] => {}
        [one] => {
            let (holder, won_by) = (escape(&one.holder), escape(one.won_by.as_str()));
            let _ = writeln!(out, "claim lost: {}, held by {holder}, was won by {won_by}", one.id);
        }
        many => {
            let beads: Vec<&str> = many.iter().map(|one| one.id.as_str()).collect();
            let _ = writeln!(out, "{}", counted(&beads));
        }
    }
}

fn counted(beads: &[&str]) -> String {
    let mut named = beads.to_vec();
    named.sort_unstable();
    named.truncate(MAX_NAMED);
    let named = named.join(", ");
    let more = if beads.len() > MAX_NAMED { ", …" } else { "" };
    format!("claims lost to another machine: {} ({named}{more})", beads.len())
}
