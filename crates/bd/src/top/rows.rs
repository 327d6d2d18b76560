//! How the lines of a screen are divided among its sections, and the text of each row.

use std::collections::BTreeSet;

use beads_engine::request::LocalClock;
use unicode_width::UnicodeWidthStr;

use super::agents::{Agent, State};
use super::matter::Matter;
use super::snapshot::{Awaited, Next, Snapshot};
use super::wording::{duration, fit, right, time_of_day};

/// From this width on, what is handed out next and the notes have a column of their own.
pub const WIDE: usize = 120;

/// The width of that column, with its border.
pub const RAIL: usize = 34;

/// The widest reason why a bead is stuck: `asked you at 01:14`.
const WHY: usize = 20;

/// How many beads are shown as next on a narrow screen.
const NARROW_NEXT: usize = 3;

/// The widths of the timetable, and of the titles beside it.
const STRIP: std::ops::RangeInclusive<usize> = 24..=96;
const TITLE: usize = 24;

/// The widest key that ends a matter: `enter answer`.
const KEY: usize = 12;

/// The widths of the two times of an agent.
const TIMES: usize = 16;

/// How many lines each section has. Every section also has a heading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub stuck: usize,
    pub agents: usize,
    pub epics: usize,
    pub needs: usize,
    pub next: usize,
    /// Whether there is a line that explains the timetable.
    pub legend: bool,
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
            share.legend = left > wanted + 2;
            left -= usize::from(share.legend);
            let sections = [
                (&mut share.needs, snapshot.other_needs().count()),
                (&mut share.epics, snapshot.epics.len()),
            ];
            for (field, count) in sections {
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
pub struct Columns<'a> {
    pub id: usize,
    pub name: usize,
    /// Whether names are shown without their host.
    is_short: bool,
    /// The machine whose name is left out.
    host: &'a str,
}

impl<'a> Columns<'a> {
    pub fn of(snapshot: &'a Snapshot, is_wide: bool) -> Self {
        let limit = if is_wide { 20 } else { 12 };
        let ids = snapshot.needs.iter().map(|one| one.id.as_str());
        let ids = ids.chain(snapshot.agents.iter().filter_map(|one| one.id.as_deref()));
        let ids = ids.chain(snapshot.next.iter().map(|one| one.id.as_str()));
        // A narrow screen has no room for hosts, unless they tell two agents apart.
        let shorts: BTreeSet<&str> = snapshot.agents.iter().map(|one| short(&one.name)).collect();
        let mut columns = Self {
            id: ids.map(UnicodeWidthStr::width).max().unwrap_or(0).clamp(4, limit),
            name: 0,
            is_short: !is_wide && shorts.len() == snapshot.agents.len(),
            host: &snapshot.about.host,
        };
        let widest = snapshot.agents.iter().map(|one| columns.shown(&one.name).width()).max();
        columns.name = widest.unwrap_or(0).clamp(4, limit);
        columns
    }

    /// Returns the name of an agent as it is shown: the machine of the reader needs no name.
    pub fn shown<'b>(&self, name: &'b str) -> &'b str {
        if self.is_short { short(name) } else { without_host(name, self.host) }
    }
}

/// Returns the name of an agent without its host.
fn short(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Returns the name of an agent without this host.
pub fn without_host<'a>(name: &'a str, host: &str) -> &'a str {
    match name.split_once('@') {
        Some((short, rest)) if rest == host => short,
        _ => name,
    }
}

/// Returns the text of a stuck bead after its word.
pub fn stuck(one: &Matter, columns: Columns<'_>, width: usize, now_ms: u64, clock: &LocalClock) -> String {
    let waits = match one.waiting {
        0 => String::new(),
        count => format!("{count} wait"),
    };
    let why = one.reason(now_ms, clock);
    let id = fit(&one.id, columns.id);
    let rest = width.saturating_sub(columns.id + 1);
    if rest < 40 {
        return format!("{id} {}", fit(&why, rest));
    }
    let (why_width, waits_width) = (WHY.min(rest / 3), 8);
    let rest = rest.saturating_sub(why_width + waits_width + 2);
    let (title_width, detail_width) = if rest > 70 { (36, rest - 37) } else { (rest, 0) };
    let detail = match detail_width {
        0 => String::new(),
        width => format!("{} ", fit(&one.evidence(now_ms, clock), width)),
    };
    let title = fit(&one.title, title_width);
    format!("{id} {title} {} {detail}{}", fit(&why, why_width), right(&waits, waits_width))
}

/// Returns the text of what needs the reader after its word, with the key that ends it.
pub fn need(one: &Matter, columns: Columns<'_>, width: usize, now_ms: u64, clock: &LocalClock) -> String {
    if width < 90 {
        return stuck(one, columns, width, now_ms, clock);
    }
    let key = right(one.key(), KEY);
    let rest = width.saturating_sub(columns.id + KEY + 7);
    let title_width = (rest * 7 / 20).min(46);
    let (id, title) = (fit(&one.id, columns.id), fit(&one.title, title_width));
    let evidence = fit(&one.evidence(now_ms, clock), rest - title_width);
    format!("{id} P{} {title}  {evidence} {key}", one.priority)
}

/// Returns the width of the timetable beside agents on a screen of this width; none if it does not fit.
pub fn strip_width(columns: Columns<'_>, width: usize) -> Option<usize> {
    let rest = width.checked_sub(columns.name + columns.id + 2 + TIMES + 2 + TITLE)?;
    // Titles get a fifth of what the timetable could have.
    let strip = (rest - rest / 5).min(*STRIP.end());
    (strip >= *STRIP.start()).then_some(strip)
}

/// Returns the text of an agent after its word.
pub fn agent(one: &Agent, columns: Columns<'_>, width: usize, now_ms: u64, clock: &LocalClock) -> String {
    let since = |at: Option<u64>| at.map(|at| duration(now_ms.saturating_sub(at)));
    // What came with a sync is as old as the sync.
    let sign = match one.state {
        State::Unknown => one.seen_ms.map(|at| time_of_day(clock, at)),
        _ => since(one.seen_ms),
    };
    let sign = sign.unwrap_or_else(|| "-".to_owned());
    let in_hand = since(one.since_ms).unwrap_or_else(|| "-".to_owned());
    let name = fit(columns.shown(&one.name), columns.name);
    let id = fit(one.id.as_deref().unwrap_or_default(), columns.id);
    let rest = width.saturating_sub(columns.name + columns.id + 2);
    if rest < 24 {
        return fit(&format!("{name} {id} {}", right(&sign, 7)), width);
    }
    let title = fit(&one.title, rest - TIMES);
    format!("{name} {id} {title}{}{}", right(&sign, 8), right(&in_hand, 8))
}

/// Counts agents by state: `4 working, 1 idle, 2 not heard of`.
pub fn counts(agents: &[&Agent]) -> String {
    let of = |state: &State| {
        let count = agents.iter().filter(|agent| agent.state == *state).count();
        (count > 0).then(|| format!("{count} {}", state.counted()))
    };
    State::ALL.iter().filter_map(of).collect::<Vec<_>>().join(", ")
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

/// Returns what more important beads wait for: `Every blocked P1 waits for bd-imp.6 or bd-auth.9.`
pub fn awaited(awaited: &Awaited) -> String {
    let list = match awaited.ids.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        ids => ids.join(", "),
    };
    format!("Every blocked P{} waits for {list}.", awaited.priority)
}
