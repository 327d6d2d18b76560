//! Renders answers as values, as `--json` output, and as text for people.

mod agents;
mod answer;
mod brief;
mod compat;
mod conflict;
pub mod csv;
mod daemon_status;
mod detail;
mod done;
pub mod dot;
mod emphasis;
mod empty;
mod events;
mod fields;
mod graph_answer;
mod graph_lanes;
mod graph_screen;
mod hub;
mod import;
pub mod links;
pub mod markdown;
mod markup;
mod memory;
pub mod mermaid;
mod past;
mod planning;
mod prose;
mod question;
mod recap;
mod report;
mod rows;
pub mod schema;
mod screen;
mod sessions;
mod settings;
mod style;
mod svg;
mod text;
pub mod token_budget;
mod upkeep;
mod value;
mod worded;
mod wrap;

pub use agents::{ActivityAnswer, AgentAnswer, AgentMail};
pub use answer::{
    Answer, BalanceAnswer, BatchAnswer, ClaimOverAnswer, CompatSetup, ConflictAnswer, CountAnswer,
    CountByAnswer, CycleAnswer, Detail, DetailOf, EachAnswer, EdgeAnswer, EpicAnswer, ExportAnswer,
    HubErrorStatus, ImportAnswer, InfoAnswer, InitAnswer, LinkedBead, LostClaim, NoteAnswer, PartlyAnswer,
    PlaceAnswer, Progress, PushBudgetStatus, RepairAnswer, RescuedAnswer, SettingAnswer, StatusAnswer,
    SyncAnswer, SyncErrorStatus, SyncStatus, TextAnswer, TreeNode, UnfinishedAnswer, UnreadableAnswer,
    UpgradeAnswer, VerifyAnswer, VersionAnswer,
};
pub use brief::Brief;
pub use daemon_status::{DaemonStatus, StepProgress};
pub use done::{
    ClaimedOf, ClosedAndClaimed, ClosedOf, ConfirmedAnswer, CreatedOf, Done, Similar, Unblocked,
    WarningAnswer,
};
pub use empty::nothing_to_change;
pub use events::{EventAnswer, EventsAnswer, events};
pub use graph_answer::{ArrowAnswer, GraphAnswer, NodeAnswer};
pub use hub::{HubAnswer, HubStatusAnswer};
pub use import::summary as import_summary;
pub use memory::{MemoryAnswer, excerpt};
pub use past::{BlameAnswer, DifferenceAnswer, LogAnswer, UndoAnswer, UndoneBead, WriteAnswer};
pub use planning::{
    ExplainAnswer, ExplainedBead, HeldBack, LeftOutAnswer, PlanAnswer, SlotAnswer, TrackAnswer,
};
pub use question::QuestionAnswer;
pub use recap::{FullRecap, RecapAnswer};
pub use sessions::{HeartbeatAnswer, HeldAnswer, SessionAnswer, SilentClaim};
pub use settings::SettingDescription;
pub use style::Style;
pub use upkeep::{
    ArchivedAnswer, CheckAnswer, DoctorAnswer, MigrationAnswer, OrphanAnswer, OrphansAnswer, StoreSchema,
    TakenOverAnswer, UninstallAnswer, status_word,
};
pub use wrap::wrap;

use beads_core::query::Severity;
use beads_core::{BeadView, counted};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::dialect::Dialect;
use crate::failure::{Failure, exit};
use crate::request::{Format, Output, Reply};

/// What the id of every conflict begins with.
pub const CONFLICT_PREFIX: &str = "CONFLICT-";

/// Renders a result once, in the format the caller asked for.
pub fn reply(result: Result<Answer, Failure>, output: &Output, position: u64) -> Reply {
    let mut reply = Reply { position, ..Reply::default() };
    match result {
        Ok(Answer::RenderedBeads(text)) => reply.stdout = text,
        Ok(Answer::Partly(partly)) => return partial_reply(*partly, output, position),
        Ok(answer) => {
            if let Answer::Unconfirmed(claimed) = answer {
                // The claim is rendered once it is confirmed, where the request is known.
                reply.result = Some(raw(&Shown::Spec(&Answer::Unconfirmed(claimed))));
                return reply;
            }
            reply.exit = exit_of(&answer);
            reply.changed = answer.changed();
            reply.stderr = stderr_notes(&answer, output);
            if let Answer::Imported(imported) = &answer {
                reply.decisions = imported
                    .decisions
                    .as_ref()
                    .map(|decisions| to_raw_value(decisions).expect("decisions serialise to JSON"));
            }
            if let Some(picked) = fields::pick(&answer, output) {
                match output.format {
                    Format::Value => {
                        reply.result = Some(to_raw_value(&picked).expect("fields serialise to JSON"));
                    }
                    Format::Json => reply.stdout = json(&picked),
                    Format::Text => reply.stdout = fields::text(&picked),
                }
                return reply;
            }
            match output.format {
                Format::Value => reply.result = Some(raw(&shown(&answer, output.dialect))),
                Format::Json => reply.stdout = json(&shown(&answer, output.dialect)),
                Format::Text => reply.stdout = text::render(&answer, output),
            }
        }
        Err(failure) => fail(&mut reply, failure, output.format),
    }
    reply
}

/// Renders what succeeded, followed by the failure. In JSON, the failure has both.
fn partial_reply(partly: PartlyAnswer, output: &Output, position: u64) -> Reply {
    let PartlyAnswer { done, failure } = partly;
    if output.format != Format::Text {
        return reply(Err(failure), output, position);
    }
    let shown = reply(Ok(done), output, position);
    let stderr = format!("{}{}", shown.stderr, escape_line(&failure.line()));
    Reply { exit: failure.exit(), stderr, ..shown }
}

/// Returns the line that announces a new store format, which earlier releases cannot open.
pub fn format_raised(version: u64) -> String {
    format!(
        "the store now has format {version}; earlier releases of bd cannot open it (to go back, run bd export)\n"
    )
}

/// Returns the reply to a request that failed before it reached a service.
pub fn failure_reply(failure: Failure, format: Format) -> Reply {
    let mut reply = Reply::default();
    fail(&mut reply, failure, format);
    reply
}

fn fail(reply: &mut Reply, failure: Failure, format: Format) {
    reply.exit = failure.exit();
    match format {
        Format::Value => reply.error = Some(failure),
        Format::Json => {
            reply.stdout = json(&failure.json());
            reply.stderr = escape_line(&failure.line());
        }
        Format::Text => reply.stderr = escape_line(&failure.line()),
    }
}

/// Escapes a message, because it may quote user input that would control the terminal.
fn escape_line(line: &str) -> String {
    let mut escaped = crate::escape::escape(line.trim_end_matches('\n')).into_owned();
    escaped.push('\n');
    escaped
}

/// Returns the exit code of an answer. `validate` fails only when it finds errors.
fn exit_of(answer: &Answer) -> u8 {
    match answer {
        Answer::Findings(findings) if findings.iter().any(|finding| finding.severity == Severity::Error) => {
            exit::DOMAIN
        }
        Answer::Imported(imported) if !imported.summary.skipped.is_empty() => exit::DOMAIN,
        Answer::Compared(comparison) if !comparison.is_equal() => exit::DOMAIN,
        _ => exit::OK,
    }
}

/// Returns the notes and warnings that accompany an answer on standard error. A partly refused import reports
/// both what it did and what it refused. Programs find similar titles in the answer itself.
fn stderr_notes(answer: &Answer, output: &Output) -> String {
    let mut notes = match answer {
        Answer::Imported(imported)
            if !imported.summary.skipped.is_empty() && output.format != Format::Value =>
        {
            let summary = &imported.summary;
            let (refused, lines) = (summary.skipped.len(), summary.lines);
            let were = if refused == 1 { "was" } else { "were" };
            format!(
                "Error: {refused} of {} {were} refused; the input was not changed\n",
                counted(lines, "line")
            )
        }
        Answer::Compared(comparison) if !comparison.is_equal() && output.format != Format::Value => {
            let count = comparison.differences.len() + comparison.skipped.len();
            let places = counted(count, "place");
            format!("Error: the file and the store differ in {places}; nothing was changed\n")
        }
        _ if output.format != Format::Text || output.quiet || output.ids_only => String::new(),
        Answer::One(one) => notes_about([one.as_ref()]),
        Answer::Many(many) => notes_about(many),
        Answer::ClosedAndClaimed(both) => notes_about(&both.closed),
        // `bd wait` also releases the claim, if there is one.
        Answer::Batch(batch) => notes_about(batch.results.iter().filter(|one| {
            one.verb != "unclaimed" || !one.unchanged || batch.results.iter().all(|other| other.unchanged)
        })),
        _ => String::new(),
    };
    if output.format == Format::Text && !output.quiet && !output.ids_only {
        notes.push_str(&report::report(answer, output));
        if let Some(note) = empty::note(answer) {
            notes.push_str(&format!("{note}\n"));
        }
    }
    notes
}

/// Returns one line for each abbreviated id, unchanged bead, similar title and warning.
fn notes_about<'a>(done: impl IntoIterator<Item = &'a Done>) -> String {
    let mut lines = String::new();
    for one in done {
        // The answer to a dependency names both of its ends.
        if let (Some(asked), Some(bead), None) = (&one.asked, &one.bead, &one.edge) {
            let of = if asked.starts_with(CONFLICT_PREFIX) { "a conflict of " } else { "" };
            lines.push_str(&escape_line(&format!("note: {asked} is {of}{}", bead.id)));
        }
        if one.unchanged {
            lines.push_str(&escape_line(&nothing_changed(one)));
        }
        for other in &one.similar {
            let (id, title, status) = (&other.id, &other.title, other.status);
            let line = format!("warning: {id} has nearly the same title: {title} ({status})");
            lines.push_str(&escape_line(&line));
        }
        for warning in &one.warnings {
            lines.push_str(&escape_line(&format!("warning: {}", warning.message)));
        }
    }
    lines
}

fn nothing_changed(one: &Done) -> String {
    let Some(bead) = &one.bead else { return "note: nothing changed".to_owned() };
    let id = &bead.id;
    match one.verb {
        "closed" => {
            let by = bead.closed_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            format!(
                "note: {id} was already closed{by}; nothing changed (--force with --reason replaces the reason)"
            )
        }
        "reopened" => format!("note: {id} is {}, not closed; nothing changed", bead.status),
        "unclaimed" => format!("note: {id} is not claimed; nothing changed"),
        "restored" => format!("note: {id} is not deleted; nothing changed"),
        _ => format!("note: {id} did not change"),
    }
}

/// An answer in one dialect.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Shown<'a> {
    /// The spec dialect.
    Spec(&'a Answer),
    /// The compat dialect.
    Compat(compat::CompatAnswer<'a>),
}

/// Returns the answer in a dialect. The default is the spec dialect.
pub fn shown(answer: &Answer, dialect: Option<Dialect>) -> Shown<'_> {
    match dialect.unwrap_or_default() {
        Dialect::Spec => Shown::Spec(answer),
        Dialect::Compat => Shown::Compat(answer.into()),
    }
}

fn raw(answer: &Shown<'_>) -> Box<RawValue> {
    to_raw_value(answer).expect("answers serialise to JSON")
}

/// Returns one bead as it appears in a `--json` list, without the comma after it.
pub fn json_row(view: BeadView, dialect: Dialect) -> String {
    let list = json(&shown(&Answer::Beads(vec![view]), Some(dialect)));
    list.strip_prefix(LIST_START)
        .and_then(|rest| rest.strip_suffix(LIST_END))
        .expect("a list begins and ends with its brackets")
        .to_owned()
}

/// Returns a `--json` list of rendered rows. `length` is their total length.
pub fn json_list<'a>(rows: impl ExactSizeIterator<Item = &'a str>, length: usize) -> String {
    let around = LIST_START.len() + LIST_END.len();
    let mut list = String::with_capacity(length + rows.len() * ROW_END.len() + around);
    list.push_str(LIST_START);
    for (index, row) in rows.enumerate() {
        if index > 0 {
            list.push_str(ROW_END);
        }
        list.push_str(row);
    }
    list.push_str(LIST_END);
    list
}

const LIST_START: &str = "[\n";
const ROW_END: &str = ",\n";
const LIST_END: &str = "\n]\n";

/// Returns a value as pretty-printed JSON, escaped for a terminal.
pub fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("answers serialise to JSON");
    text.push('\n');
    crate::escape::escape_json(text)
}
