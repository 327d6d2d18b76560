//! How the lines of a screen are divided among its sections, and the text of each row.

use std::collections::BTreeSet;

use beads_core::query::WorkerState;
use beads_engine::request::LocalClock;
use unicode_width::UnicodeWidthStr;

use super::snapshot::{Agent, Next, Snapshot, Stuck, Why};
use super::wording::{duration, fit, right};

/// From this width on, what is handed out next and the notes have a column of their own.
pub const WIDE: usize = 120;

/// The width of that column, with its border.
pub const RAIL: usize = 34;

/// The widest reason why a bead is stuck: `asks you since 01:14`.
const WHY: usize = 20;

/// How many beads are shown as next on a narrow screen.
const NARROW_NEXT: usize = 3;

/// How many lines each section has. Every section also has a heading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub stuck: usize,
    pub agents: usize,
    pub epics: usize,
    pub needs: usize,
    pub next: usize,
}

impl Share {
    /// Divides `lines` among the sections. Trouble is shown whole if possible, and nothing is refused: small
    /// screens leave out what is handed out next, then the agents.
    pub fn of(snapshot: &Snapshot, lines: usize, is_wide: bool) -> Self {
        let stuck = snapshot.stuck.len().clamp(1, (lines / 3).max(1));
        let mut share = Self { stuck, ..Self::default() };
        let mut left = lines.saturating_sub(stuck + 1);
        if !is_wide && left >= NARROW_NEXT + 6 {
            share.next = snapshot.next.len().clamp(1, NARROW_NEXT);
            left -= share.next + 1;
        }
        let wanted = snapshot.agents.len().max(1);
        if is_wide {
            for (field, count) in
                [(&mut share.needs, snapshot.needs.len()), (&mut share.epics, snapshot.epics.len())]
            {
                let free = left.saturating_sub(wanted + 2);
                if count > 0 && free >= 2 {
                    *field = count.min(free - 1);
                    left -= *field + 1;
                }
            }
        }
        share.agents = left.saturating_sub(1).min(wanted);
        if !is_wide {
            // What the agents do not need goes to what comes next.
            let spare = left.saturating_sub(share.agents + 1);
            share.next +=
                spare.min(snapshot.next.len().saturating_sub(share.next)) * usize::from(share.next > 0);
        }
        share
    }
}

/// Widths of the columns of a list.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    pub id: usize,
    pub name: usize,
    /// Whether names are shown without their host.
    pub is_short: bool,
}

impl Columns {
    pub fn of(snapshot: &Snapshot, is_wide: bool) -> Self {
        let limit = if is_wide { 20 } else { 12 };
        let ids = snapshot.stuck.iter().map(|one| one.id.as_str());
        let ids = ids.chain(snapshot.agents.iter().filter_map(|one| one.id.as_deref()));
        let ids = ids.chain(snapshot.next.iter().map(|one| one.id.as_str()));
        // A narrow screen has no room for hosts, unless they tell two agents apart.
        let shorts: BTreeSet<&str> = snapshot.agents.iter().map(|one| short(&one.name)).collect();
        let is_short = !is_wide && shorts.len() == snapshot.agents.len();
        let names = snapshot.agents.iter().map(|one| if is_short { short(&one.name) } else { &one.name });
        Self {
            id: ids.map(UnicodeWidthStr::width).max().unwrap_or(0).clamp(4, limit),
            name: names.map(UnicodeWidthStr::width).max().unwrap_or(0).clamp(4, limit),
            is_short,
        }
    }
}

/// Returns the name of an agent without its host.
fn short(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Returns the text of a stuck bead after its word.
pub fn stuck(one: &Stuck, columns: Columns, width: usize, now_ms: u64, clock: &LocalClock) -> String {
    let waits = format!("{} wait", one.waiting);
    let why = match &one.why {
        Why::AsksSince(at) => format!("asked you at {}", time(clock, *at)),
        Why::NoNoteSince(at) => format!("no note for {}", duration(now_ms.saturating_sub(*at))),
        Why::NoSignSince(at) => format!("no sign for {}", duration(now_ms.saturating_sub(*at))),
        Why::NoClaim => "no holder".to_owned(),
        Why::CycleWith(other) => format!("cycle with {other}"),
    };
    let id = fit(&one.id, columns.id);
    let rest = width.saturating_sub(columns.id + 1);
    if rest < 40 {
        return format!("{id} {}", fit(&why, rest));
    }
    let (why_width, waits_width) = (WHY.min(rest / 3), 8);
    let rest = rest.saturating_sub(why_width + waits_width + 2);
    let (title_width, detail_width) = if rest > 70 { (36, rest - 37) } else { (rest, 0) };
    let detail =
        if detail_width > 0 { format!("{} ", fit(&one.detail, detail_width)) } else { String::new() };
    let title = fit(&one.title, title_width);
    format!("{id} {title} {} {detail}{}", fit(&why, why_width), right(&waits, waits_width))
}

/// Returns the text of an agent after its word.
pub fn agent(one: &Agent, columns: Columns, width: usize, now_ms: u64) -> String {
    let since = |at: Option<u64>| at.map(|at| duration(now_ms.saturating_sub(at)));
    let sign = since(one.seen_ms).unwrap_or_else(|| "-".to_owned());
    let in_hand = since(one.since_ms).unwrap_or_else(|| "-".to_owned());
    let name = if columns.is_short { short(&one.name) } else { &one.name };
    let (name, id) = (fit(name, columns.name), fit(one.id.as_deref().unwrap_or_default(), columns.id));
    let rest = width.saturating_sub(columns.name + columns.id + 2);
    if rest < 24 {
        return fit(&format!("{name} {id} {}", right(&sign, 7)), width);
    }
    let title = fit(&one.title, rest - 16);
    format!("{name} {id} {title}{}{}", right(&sign, 8), right(&in_hand, 8))
}

/// Counts agents by state: `4 working, 1 idle, 2 quiet`.
pub fn counts(agents: &[Agent]) -> String {
    let of = |state, word: &str| {
        let count = agents.iter().filter(|agent| agent.state == state).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    let parts = [
        of(WorkerState::Dead, "gone"),
        of(WorkerState::Hung, "slow"),
        of(WorkerState::Working, "working"),
        of(WorkerState::Idle, "idle"),
        of(WorkerState::Quiet, "quiet"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns why nothing more important is handed out.
pub fn why_next(next: &[Next]) -> String {
    match next.iter().map(|one| one.priority).min() {
        None => "nothing is ready".to_owned(),
        Some(0) => String::new(),
        Some(1) => "no P0 is free".to_owned(),
        Some(2) => "no P0 or P1 is free".to_owned(),
        Some(top) => format!("no P{} or P{} is free", top - 2, top - 1),
    }
}

fn time(clock: &LocalClock, ms: u64) -> String {
    beads_core::Timestamp::from_ms(ms).map(|time| clock.at(time)).unwrap_or_default()
}
