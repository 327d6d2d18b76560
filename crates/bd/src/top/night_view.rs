//! Draws *Last night*: a sentence, what each agent closed on one axis, and the incidents.

use beads_core::counted;
use beads_engine::render::wrap;
use ratatui::text::Line;

use super::agents::State;
use super::draw::Look;
use super::night::{Missing, median};
use super::now_view::List;
use super::rows::{Columns, WIDE};
use super::screen::{Screen, Section};
use super::snapshot::Snapshot;
use super::timetable::{Axis, Mark};
use super::wording::{duration, fit, right, rule, time};

/// The width of what stands before the timetable, besides the name: the mark, two figures and spaces.
const FIGURES: usize = 22;

/// The narrowest timetable that is drawn.
const NARROWEST: usize = 20;

/// Draws the view.
pub fn lines(screen: &Screen, look: &Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let snapshot = &screen.snapshot;
    let list = List { screen, look, columns: Columns::of(snapshot, width >= WIDE), width };
    let words = wrap(&sentence(snapshot, look), width.saturating_sub(2).max(1));
    let mut lines: Vec<Line<'static>> =
        words.lines().map(|line| Line::raw(fit(&format!(" {line}"), width))).collect();
    let incidents = &snapshot.night.incidents;
    // A third of the rest is for the incidents.
    let room = height.saturating_sub(lines.len());
    let below = (incidents.len().max(1) + 1).min(room / 3);
    lines.extend(agents(&list, room.saturating_sub(below)));
    if below > 0 {
        let remark = match snapshot.night.missing {
            None => "newest first".to_owned(),
            Some(Missing::Before(begins_ms)) => {
                format!("newest first; the log begins at {}", time(&look.clock, begins_ms))
            }
            Some(Missing::Gap) => "newest first; the log has a gap".to_owned(),
        };
        lines.push(list.rule(&format!("incidents {}", incidents.len()), &remark));
        let shown = height.saturating_sub(lines.len());
        for (number, one) in list.window(incidents, Section::Incidents, shown) {
            let by = list.columns.shown(&one.line.by);
            let at = time(&look.clock, one.line.at_ms);
            let text =
                format!("{at} {} {by} {}  {}", fit(&one.line.id, list.columns.id), one.what, one.line.text);
            lines.push(list.row(number, one.word, &fit(&text, width.saturating_sub(6))));
        }
        if incidents.is_empty() {
            lines.push(Line::raw(fit("      nothing went wrong", width)));
        }
    }
    lines
}

/// Says what the period was worth, and what stalled.
fn sentence(snapshot: &Snapshot, look: &Look) -> String {
    let night = &snapshot.night;
    let lasts = duration(snapshot.now_ms.saturating_sub(snapshot.since_ms));
    let all = snapshot.agents.len().max(night.closers);
    let reopened = match night.count("back") {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    let mut trouble = Vec::new();
    let mut tell = |count: usize, one: &str, is: &str, are: &str| {
        if count > 0 {
            trouble.push(format!("{} {}", counted(count, one), if count == 1 { is } else { are }));
        }
    };
    let asks = snapshot.needs.iter().filter(|one| one.question().is_some()).count();
    tell(asks, "question", "waits for you", "wait for you");
    tell(
        snapshot.agents.iter().filter(|one| one.state == State::Gone).count(),
        "agent",
        "is gone",
        "are gone",
    );
    tell(night.count("both"), "write", "was overwritten", "were overwritten");
    trouble.extend(
        snapshot
            .sync
            .as_ref()
            .map(|sync| format!("the sync has failed since {}", time(&look.clock, sync.since_ms))),
    );
    let rest = if trouble.is_empty() { "Nothing went wrong".to_owned() } else { trouble.join(", ") };
    format!(
        "{} closed in {lasts} by {} of {all} agents; {} created, {reopened} reopened. {rest}.",
        counted(snapshot.closed, "bead"),
        night.closers,
        night.created
    )
}

/// Draws a line for each agent that closed something, the most first, and one for all.
fn agents(list: &List<'_>, rows: usize) -> Vec<Line<'static>> {
    let (snapshot, clock) = (&list.screen.snapshot, &list.look.clock);
    let (night, name_width) = (&snapshot.night, list.columns.name);
    let strip = list.width.saturating_sub(name_width + FIGURES);
    let axis = (strip >= NARROWEST)
        .then(|| Axis::new((snapshot.since_ms, snapshot.now_ms), std::iter::empty(), clock, strip));
    let mut agents: Vec<_> = snapshot.agents.iter().filter(|agent| agent.closed > 0).collect();
    agents.sort_by_key(|agent| (std::cmp::Reverse(agent.closed), &agent.name));
    let row = |name: &str, closed: usize, took: Option<u64>, line: String| {
        let took = took.map_or_else(|| "-".to_owned(), duration);
        let text = format!(
            "      {} {} {}  {line}",
            fit(name, name_width),
            right(&closed.to_string(), 4),
            right(&took, 8)
        );
        Line::raw(fit(&text, list.width))
    };
    let title = rule("closed", "closed, median", name_width + FIGURES - 2);
    let labels = axis.map(|axis| axis.labels(clock)).unwrap_or_default();
    let mut lines = vec![Line::raw(fit(&format!("{title}  {labels}"), list.width))];
    let all = axis.map(|axis| axis.counts(night.closed_at.iter().copied())).unwrap_or_default();
    lines.push(row("all", snapshot.closed, night.median_ms, all));
    let room = rows.saturating_sub(2);
    let shown = if agents.len() > room { room.saturating_sub(1) } else { room };
    for agent in agents.iter().take(shown) {
        let closed: Vec<_> = agent.spans.iter().filter(|span| span.mark == Mark::Closed).collect();
        let took = median(closed.iter().filter_map(|span| span.to_ms?.checked_sub(span.from_ms)).collect());
        let line = axis.map(|axis| axis.strip(&agent.spans, None)).unwrap_or_default();
        lines.push(row(list.columns.shown(&agent.name), agent.closed, took, line));
    }
    if agents.len() > shown {
        lines.push(Line::raw(fit(&format!("      Showing {shown} of {}", agents.len()), list.width)));
    }
    lines.truncate(rows);
    lines
}
