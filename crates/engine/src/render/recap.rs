//! Renders what happened in a period, as text or Markdown, in full or in a few hundred tokens.

use beads_core::query::{
    ClosedWork, DoneTwice, FailedWork, Keystone, PersonNeed, Recap, SyncOutage, Undelivered, WaitsForPerson,
    Worker, WorkerState,
};
use beads_core::{Actor, BeadId, Title, counted};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::TextAnswer;
use super::markdown::escaped;
use super::style::Style;
use super::token_budget::{list_within, truncate};
use crate::escape::escape;
use crate::request::{RecapFormat, RecapQuery};

/// The maximum number of lines in a section. JSON has all of them.
const MAX_LINES: usize = 20;

/// Longer reasons and questions are truncated in text.
const TEXT_CHARS: usize = 100;

/// Longer titles, names and reasons are truncated in a brief.
const BRIEF_CHARS: usize = 32;

/// The token budget of each list in a brief. With the labels, eight of them stay below 400.
const LIST_TOKENS: usize = 32;

/// What happened in a period, in the form that was asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RecapAnswer {
    /// Everything.
    Full(Box<FullRecap>),
    /// A text of at most 400 tokens.
    Brief(TextAnswer),
}

/// Everything that happened in a period.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FullRecap {
    /// What happened.
    #[serde(flatten)]
    pub recap: Recap,
    #[serde(skip)]
    format: RecapFormat,
}

impl RecapAnswer {
    /// Returns the answer to a query.
    pub fn new(recap: Recap, asked: &RecapQuery) -> Self {
        match asked.brief {
            true => Self::Brief(TextAnswer { text: brief(&recap) }),
            false => Self::Full(Box::new(FullRecap { recap, format: asked.format })),
        }
    }
}

pub(super) fn render(out: &mut String, answer: &RecapAnswer, style: Style) {
    match answer {
        RecapAnswer::Brief(brief) => out.push_str(&brief.text),
        RecapAnswer::Full(full) => {
            let page = Page { markdown: full.format == RecapFormat::Md, style };
            page.write(out, &full.recap);
        }
    }
}

/// Writes what waits for a person, for `bd status`.
pub(super) fn waiting(out: &mut String, waiting: &[WaitsForPerson], style: Style) {
    let page = Page { markdown: false, style };
    // Stuck beads and conflicts have their own lines there.
    let others = waiting.iter().filter(|one| !matches!(one.need, PersonNeed::Stuck | PersonNeed::Conflict));
    others.for_each(|one| *out += &format!("waits for a person: {}\n", page.waiting(one)));
}

/// How a recap is written.
#[derive(Clone, Copy)]
struct Page<'a> {
    markdown: bool,
    style: Style<'a>,
}

impl Page<'_> {
    fn write(self, out: &mut String, recap: &Recap) {
        let (since, until) = (self.time(&recap.since), self.time(&recap.until));
        let heading = format!("{since} to {until}");
        *out += &if self.markdown { format!("# Recap\n\n{heading}: ") } else { format!("{heading}\n") };
        *out += &format!("{}\n", counts(recap));
        if !recap.complete {
            out.push_str("The event log here does not cover the whole period; some claims may be missing.\n");
        }
        let troubled = recap.actors.iter().filter(|one| one.state < WorkerState::Working);
        self.section(out, "Waits for a person", recap.waiting.iter().map(|one| self.waiting(one)).collect());
        self.section(out, "Done twice", recap.done_twice.iter().map(|one| self.twice(one)).collect());
        self.section(out, "Keystone", recap.keystone.iter().map(|one| self.keystone(one)).collect());
        self.section(out, "Dead, hung or quiet", troubled.map(|one| self.troubled(one)).collect());
        self.section(
            out,
            "Did not arrive",
            recap.undelivered.iter().map(|one| self.undelivered(one)).collect(),
        );
        self.section(
            out,
            "Cut off from the remote",
            recap.sync_outages.iter().map(|one| self.outage(one)).collect(),
        );
        self.section(out, "Who did what", recap.actors.iter().filter_map(|one| self.did(one)).collect());
        self.section(out, "Closed", recap.closed.iter().map(|one| self.closed(one)).collect());
        self.section(out, "Failed", recap.failed.iter().map(|one| self.failed(one)).collect());
        let reclaimed = recap.reclaimed.iter().map(|one| {
            let holder = self.name(one.holder.as_ref());
            format!(
                "{}, the lease of {holder} had ended, {}",
                self.bead(&one.id, &one.title),
                self.time(&one.at)
            )
        });
        self.section(out, "Reclaimed", reclaimed.collect());
        let conflicts = recap.conflicts.iter().map(|one| {
            let (bead, field) = (self.bead(&one.id, &one.title), one.field.name());
            let (by, won_by) = (self.text(one.by.as_str()), self.text(one.won_by.as_str()));
            let dismissed = if one.dismissed { " (dismissed)" } else { "" };
            format!("{bead}, {field}: {by} lost to {won_by}, {}{dismissed}", self.time(&one.at))
        });
        self.section(out, "Conflicts", conflicts.collect());
        let created = recap.created.iter().map(|one| {
            let (bead, by) = (self.bead(&one.id, &one.title), self.text(one.by.as_str()));
            format!("{bead}, by {by}, {}", self.time(&one.at))
        });
        self.section(out, "Created", created.collect());
    }

    fn section(self, out: &mut String, title: &str, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        *out += &match self.markdown {
            true => format!("\n## {title}\n\n"),
            false => format!("\n{}\n", self.style.bold(title)),
        };
        let bullet = if self.markdown { "- " } else { "  " };
        let more = lines.len().saturating_sub(MAX_LINES);
        for line in lines.into_iter().take(MAX_LINES) {
            let line = format!("{bullet}{line}");
            *out += &if self.markdown { line } else { self.style.wrapped(&line, "    ") };
            out.push('\n');
        }
        if more > 0 {
            *out += &format!("{bullet}and {more} more; --json lists all\n");
        }
    }

    /// Escapes text that was typed by users.
    fn text(self, text: &str) -> String {
        let line = truncate(text.lines().next().unwrap_or_default(), TEXT_CHARS);
        let line = escape(&line).into_owned();
        match self.markdown {
            true => escaped(&line),
            false => line,
        }
    }

    /// Formats a time: local on a terminal, exact in UTC in a pipe and in Markdown, which others will read.
    fn time(self, time: &str) -> String {
        if self.markdown { time.to_owned() } else { self.style.time(time, Style::at) }
    }

    fn name(self, actor: Option<&Actor>) -> String {
        actor.map_or_else(|| "an unknown actor".to_owned(), |actor| self.text(actor.as_str()))
    }

    fn bead(self, id: &BeadId, title: &Title) -> String {
        match self.markdown {
            true => format!("`{id}` {}", self.text(title.as_str())),
            false => format!("{}  {}", self.style.id(id.as_str()), self.text(title.as_str())),
        }
    }

    fn reason(self, text: Option<&String>) -> String {
        text.map(|text| format!(": {}", self.text(text))).unwrap_or_default()
    }

    fn closed(self, one: &ClosedWork) -> String {
        let (bead, by) = (self.bead(&one.id, &one.title), self.text(one.by.as_str()));
        let took = one.took_ms.map(|ms| format!(" in {}", duration(ms))).unwrap_or_default();
        let evidence: Vec<String> = one.evidence.iter().map(|one| self.text(one)).collect();
        let evidence =
            if evidence.is_empty() { String::new() } else { format!(" ({})", evidence.join(", ")) };
        format!("{bead}, by {by}{took}, {}{evidence}{}", self.time(&one.at), self.reason(one.reason.as_ref()))
    }

    fn failed(self, one: &FailedWork) -> String {
        let (bead, by) = (self.bead(&one.id, &one.title), self.text(one.by.as_str()));
        let holder = one.holder.as_ref().filter(|holder| **holder != one.by);
        let of = holder.map(|holder| format!(" from {}", self.text(holder.as_str()))).unwrap_or_default();
        format!("{bead}, {}{of} by {by}, {}{}", one.how, self.time(&one.at), self.reason(one.text.as_ref()))
    }

    fn waiting(self, one: &WaitsForPerson) -> String {
        let (bead, since) = (self.bead(&one.id, &one.title), self.time(&one.since));
        let actor = one.actor.as_ref().map(|actor| self.text(actor.as_str())).unwrap_or_default();
        let text = self.reason(one.text.as_ref());
        match one.need {
            PersonNeed::Question => format!("{bead}, asked by {actor}, {since}{text}"),
            PersonNeed::Conflict => format!("{bead}, conflict, {actor} lost, {since}{text}"),
            PersonNeed::Stuck => format!("{bead}, in progress without a claim since {since}"),
            PersonNeed::Blocked => format!("{bead}, blocked since {since}"),
            PersonNeed::Assigned => format!("{bead}, assigned to {actor} and not started, {since}"),
            PersonNeed::CloseEpic => format!("{bead}, all children are closed, {since}"),
        }
    }

    fn twice(self, one: &DoneTwice) -> String {
        let by: Vec<String> = one.by.iter().map(|by| self.text(by.as_str())).collect();
        let lost = one.lost_ms.map(|ms| format!(", {} lost", duration(ms))).unwrap_or_default();
        let how = one.how.replace('_', " ");
        let branches = one.branches.iter().map(|branch| format!("branch {}", self.text(branch)));
        let commits = one.commits.iter().map(|commit| format!("commit {}", self.text(commit)));
        let throw_away: Vec<String> = branches.chain(commits).collect();
        let throw_away = match throw_away.is_empty() {
            true => String::new(),
            false => format!("; throw away {}", throw_away.join(", ")),
        };
        format!("{}, by {}, {how}{lost}{throw_away}", self.bead(&one.id, &one.title), by.join(" and "))
    }

    fn keystone(self, one: &Keystone) -> String {
        let held = match (&one.holder, &one.held_since) {
            (Some(holder), Some(since)) => {
                let state = one.holder_state.map(|state| format!(" ({})", state.as_str()));
                let holder = self.text(holder.as_str());
                format!("held by {holder}{} since {}", state.unwrap_or_default(), self.time(since))
            }
            _ => "held by no one".to_owned(),
        };
        format!("{}, blocks {}, {held}", self.bead(&one.id, &one.title), one.waiting)
    }

    fn troubled(self, one: &Worker) -> String {
        let holds: Vec<&str> = one.holds.iter().map(|held| held.id.as_str()).collect();
        let seen = one.last_seen.as_deref().map_or_else(|| "never".to_owned(), |time| self.time(time));
        let (name, state) = (self.text(one.actor.as_str()), one.state.as_str());
        format!("{name} is {state}: holds {}, last seen {seen}", holds.join(", "))
    }

    fn did(self, one: &Worker) -> Option<String> {
        let busy = if one.busy_ms > 0 { format!(" in {}", duration(one.busy_ms)) } else { String::new() };
        let did = one.closed + one.created + one.notes > 0;
        let name = self.text(one.actor.as_str());
        did.then(|| {
            let notes = counted(one.notes, "note");
            format!("{name}: {} closed{busy}, {} created, {notes}", one.closed, one.created)
        })
    }

    fn undelivered(self, one: &Undelivered) -> String {
        let (bead, to, by) = (self.bead(&one.id, &one.title), self.text(&one.to), self.text(one.by.as_str()));
        let (kind, at) = (one.kind, self.time(&one.at));
        let lost = one.lost_ms.map(|ms| format!(" for {}", duration(ms))).unwrap_or_default();
        let why = match one.why {
            "offer_expired" => "the offer expired".to_owned(),
            "taken_by_other" => "another actor took it".to_owned(),
            "kept_working" => format!("{to} worked on{lost}"),
            _ => format!("{to} gave no sign of life since then"),
        };
        format!("{bead}, {kind} by {by} to {to}, {at}: {why}")
    }

    fn outage(self, one: &SyncOutage) -> String {
        let from = self.time(&one.from);
        if let (false, Some(until)) = (one.actors.is_empty(), &one.until) {
            let actors: Vec<String> = one.actors.iter().map(|actor| self.text(actor.as_str())).collect();
            let (actors, until) = (actors.join(", "), self.time(until));
            return format!("the machine of {actors}: changes made since {from} arrived {until}");
        }
        let until = match &one.until {
            Some(until) => format!("recovered {}", self.time(until)),
            None => "still failing".to_owned(),
        };
        format!("this machine: {from}, {until}{}", self.reason(one.reason.as_ref()))
    }
}

fn counts(recap: &Recap) -> String {
    format!(
        "{} closed, {} created, {} failed, {} reclaimed, {}",
        recap.closed.len(),
        recap.created.len(),
        recap.failed.len(),
        recap.reclaimed.len(),
        counted(recap.conflicts.len(), "conflict")
    )
}

/// Returns a recap in at most 400 tokens.
fn brief(recap: &Recap) -> String {
    let short = |text: &str| truncate(&escape(text.lines().next().unwrap_or_default()), BRIEF_CHARS);
    let clock = |time: &str| time.get(11..16).map(|time| format!("{time}Z")).unwrap_or_default();
    let mut out = format!("Since {} {}: {}.\n", day(&recap.since), clock(&recap.since), counts(recap));
    let mut line = |label: &str, items: Vec<String>| {
        if !items.is_empty() {
            out += &format!("{label}: {}\n", list_within(&items, LIST_TOKENS));
        }
    };
    let waits = recap.waiting.iter().map(|one| {
        let need =
            serde_json::to_value(one.need).ok().and_then(|need| Some(need.as_str()?.replace('_', " ")));
        format!("{} {}", one.id, need.unwrap_or_default())
    });
    line("For you", waits.collect());
    let lost = |ms: Option<u64>| ms.map(|ms| format!(" ({} lost)", duration(ms))).unwrap_or_default();
    line(
        "Done twice",
        recap.done_twice.iter().map(|one| format!("{}{}", one.id, lost(one.lost_ms))).collect(),
    );
    let keystone = recap.keystone.iter().map(|one| {
        let holder = one.holder.as_ref().map_or_else(|| "free".to_owned(), |holder| short(holder.as_str()));
        format!("{} (blocks {}, {holder})", one.id, one.waiting)
    });
    line("Keystone", keystone.collect());
    let troubled = recap.actors.iter().filter(|one| one.state < WorkerState::Working);
    line(
        "Agents",
        troubled.map(|one| format!("{} {}", short(one.actor.as_str()), one.state.as_str())).collect(),
    );
    line("Did not arrive", recap.undelivered.iter().map(|one| format!("{} {}", one.id, one.kind)).collect());
    let outages = recap.sync_outages.iter().map(|one| {
        let who = match &one.actors[..] {
            [] => "here".to_owned(),
            [one] => short(one.as_str()),
            [first, others @ ..] => format!("{} and {} more", short(first.as_str()), others.len()),
        };
        let until = one.until.as_deref().map_or_else(|| "now".to_owned(), clock);
        format!("{who} {}-{until}", clock(&one.from))
    });
    line("Cut off", outages.collect());
    let workers = recap.actors.iter().filter(|one| one.closed > 0);
    line("Closed by", workers.map(|one| format!("{} {}", short(one.actor.as_str()), one.closed)).collect());
    line(
        "Closed",
        recap.closed.iter().map(|one| format!("{} {}", one.id, short(one.title.as_str()))).collect(),
    );
    out
}

fn day(time: &str) -> &str {
    time.get(..10).unwrap_or_default()
}

/// Formats a duration for people.
pub(super) fn duration(ms: u64) -> String {
    let minutes = ms / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => "under 1 min".to_owned(),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}
