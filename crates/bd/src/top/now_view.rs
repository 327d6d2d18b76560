//! Draws *Now*: what is stuck, the agents, and, where there is room, the epics and what else needs the reader.

use beads_engine::render::wrap;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::draw::Look;
use super::epics::{End, Epic};
use super::rows::{self, Columns, RAIL, Share, WIDE};
use super::screen::{Screen, Section};
use super::snapshot::{NoteLine, Snapshot};
use super::timetable::{Axis, LEGEND};
use super::wording::{fit, right, rule, time};

/// The most lines of a note.
const NOTE_LINES: usize = 4;

/// How many beads the right column shows as next.
const RAIL_NEXT: usize = 8;

/// Draws the view.
pub fn lines(screen: &Screen, look: &Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let is_wide = width >= WIDE;
    let left_width = if is_wide { width - RAIL } else { width };
    let share = Share::of(&screen.snapshot, height, is_wide);
    let columns = Columns::of(&screen.snapshot, is_wide);
    let list = List { screen, look, columns, width: left_width };
    // The reasons need the whole width.
    let mut lines = List { width, ..list }.stuck(share.stuck);
    let mut left = list.rest(share);
    if !is_wide {
        lines.extend(left);
        return lines;
    }
    let below = height.saturating_sub(lines.len());
    left.resize(below, Line::default());
    let beside = |(mut line, rail): (Line<'static>, Line<'static>)| {
        let used = line.width();
        line.push_span(Span::raw(" ".repeat(left_width.saturating_sub(used))));
        line.spans.extend(rail.spans);
        line
    };
    lines.extend(left.into_iter().zip(list.rail(below)).map(beside));
    lines
}

/// Lists of rows, of which one is selected.
#[derive(Clone, Copy)]
pub struct List<'a> {
    pub screen: &'a Screen,
    pub look: &'a Look,
    pub columns: Columns<'a>,
    pub width: usize,
}

impl List<'_> {
    fn snapshot(&self) -> &Snapshot {
        &self.screen.snapshot
    }

    /// Draws everything below the stuck beads.
    fn rest(&self, share: Share) -> Vec<Line<'static>> {
        let snapshot = self.snapshot();
        let mut lines = Vec::new();
        if share.agents > 0 {
            lines.extend(self.agents(share.agents, share.legend));
        }
        if share.epics > 0 {
            let title = format!("epics {}", snapshot.epics.len());
            lines.push(self.rule(&title, "closed, in hand, rest; expected end"));
            lines.extend(snapshot.epics.iter().take(share.epics).map(|epic| self.epic(epic)));
        }
        if share.needs > 0 {
            lines.extend(self.other_needs(share.needs));
        }
        if share.next > 0 {
            let title = format!("next of {} ready", snapshot.ready);
            lines.push(self.rule(&title, &rows::why_next(&snapshot.next)));
            lines.extend(self.next(share.next));
        }
        lines
    }

    pub fn rule(&self, title: &str, remark: &str) -> Line<'static> {
        Line::raw(rule(title, remark, self.width))
    }

    fn stuck(&self, count: usize) -> Vec<Line<'static>> {
        let stuck = &self.snapshot().stuck;
        let remark = if self.width >= WIDE - RAIL { "by how many wait behind" } else { "" };
        let mut lines = vec![self.rule(&format!("stuck {}", stuck.len()), remark)];
        let (now_ms, clock) = (self.snapshot().now_ms, &self.look.clock);
        for (number, one) in self.window(stuck, Section::Stuck, count) {
            let text = rows::stuck(one, self.columns, self.width.saturating_sub(6), now_ms, clock);
            lines.push(self.row(number, one.word(), &text));
        }
        if stuck.is_empty() {
            lines.push(Line::raw(fit("      nothing is stuck", self.width)));
        }
        lines
    }

    fn agents(&self, count: usize, has_legend: bool) -> Vec<Line<'static>> {
        let (snapshot, clock) = (self.snapshot(), &self.look.clock);
        let agents = &snapshot.agents;
        let strip = rows::strip_width(self.columns, self.width.saturating_sub(6));
        let leases = agents.iter().filter_map(|agent| agent.lease_ms);
        let period = (snapshot.since_ms, snapshot.now_ms);
        let axis = strip.map(|width| Axis::new(period, leases, clock, width));
        let text_width = self.width - strip.map_or(0, |width| width + 2).min(self.width);
        let title = format!("agents {}", agents.len());
        let labels = axis.map(|axis| format!("  {}", axis.labels(clock))).unwrap_or_default();
        let mut lines =
            vec![Line::raw(format!("{}{labels}", rule(&title, "last sign, in hand", text_width)))];
        let shown = if agents.len() > count { count.saturating_sub(1) } else { count };
        let window: Vec<_> = self.window(agents, Section::Agents, shown).collect();
        for (number, one) in &window {
            let text = rows::agent(one, self.columns, text_width.saturating_sub(6), snapshot.now_ms, clock);
            let line = axis.map(|axis| format!("  {}", axis.strip(&one.spans, one.lease_ms)));
            lines.push(self.row(*number, one.state.word(), &(text + &line.unwrap_or_default())));
        }
        if agents.is_empty() {
            lines.push(Line::raw(fit("      no recent agent", self.width)));
        } else if agents.len() > shown {
            let first =
                window.first().map_or(0, |(number, _)| number - self.screen.first_of(Section::Agents));
            let hidden: Vec<_> = agents[..first].iter().chain(&agents[first + window.len()..]).collect();
            let more = format!("      {} more: {}", agents.len() - window.len(), rows::counts(&hidden));
            lines.push(Line::raw(fit(&more, self.width)));
        }
        if has_legend && axis.is_some() {
            lines.push(Line::raw(right(LEGEND, self.width)));
        }
        lines
    }

    /// Draws what needs the reader and is not above.
    fn other_needs(&self, count: usize) -> Vec<Line<'static>> {
        let snapshot = self.snapshot();
        let above = match (snapshot.stuck.len(), snapshot.sync.is_some()) {
            (0, false) => "",
            (0, true) => "the sync is above",
            (_, false) => "the stuck ones are above",
            (_, true) => "the stuck ones and the sync are above",
        };
        let others: Vec<_> = snapshot.other_needs().collect();
        let shown = if others.len() > count { count.saturating_sub(1) } else { count };
        let mut lines = vec![self.rule(&format!("needs you {}", snapshot.need_count()), above)];
        let width = self.width.saturating_sub(6);
        for (number, one) in self.window(&others, Section::Needs, shown) {
            let text = rows::need(one, self.columns, width, snapshot.now_ms, &self.look.clock);
            lines.push(self.row(number, one.word(), &text));
        }
        if others.len() > shown {
            let more = format!("      {} more: 2 shows all", others.len() - shown);
            lines.push(Line::raw(fit(&more, self.width)));
        }
        lines
    }

    fn next(&self, count: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (number, one) in self.window(&self.snapshot().next, Section::Next, count) {
            let id = fit(&one.id, self.columns.id);
            let gap = " ".repeat(self.columns.name);
            let title_width = self.width.saturating_sub(self.columns.id + self.columns.name + 8);
            let text = format!("{gap} {id} {}", fit(&one.title, title_width));
            lines.push(self.row(number, &format!("P{}", one.priority), &text));
        }
        if lines.is_empty() {
            lines.push(Line::raw(fit("      nothing is ready", self.width)));
        }
        lines
    }

    /// Returns the rows of a section that fit, around the selected one, with their numbers on the screen.
    pub fn window<'b, T>(
        &self,
        all: &'b [T],
        section: Section,
        count: usize,
    ) -> impl Iterator<Item = (usize, &'b T)> + use<'b, T> {
        let first = self.screen.first_of(section);
        let selected = self.screen.selected.checked_sub(first).filter(|index| *index < all.len());
        let skip = selected.map_or(0, |index| (index + 1).saturating_sub(count));
        all.iter().enumerate().skip(skip).take(count).map(move |(index, one)| (first + index, one))
    }

    /// Returns a row: a mark if it is selected, its word and its text.
    pub fn row(&self, number: usize, word: &str, text: &str) -> Line<'static> {
        let is_selected = number == self.screen.selected;
        let mark = if is_selected { ">" } else { " " };
        let strong = if is_selected { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        Line::from(vec![
            Span::styled(mark, strong),
            Span::styled(right(word, 4), self.look.paint(word)),
            Span::styled(format!(" {text}"), strong),
        ])
    }

    fn epic(&self, epic: &Epic) -> Line<'static> {
        const BAR: usize = 40;
        let cells = |count: usize| (count * BAR).checked_div(epic.total).unwrap_or(0).min(BAR);
        let (closed, held) = (cells(epic.closed), cells(epic.closed + epic.held));
        let bar = format!("{}{}{}", "=".repeat(closed), "#".repeat(held - closed), ".".repeat(BAR - held));
        let count = format!("{} of {}", epic.closed, epic.total);
        let left = format!("{} left", epic.left());
        let end = match epic.end {
            End::At(ms) => time(&self.look.clock, ms),
            End::WaitsForYou => "you".to_owned(),
            End::Unknown => "-".to_owned(),
        };
        let end = right(&end, 17);
        let title = fit(&epic.title, self.width.saturating_sub(BAR + 47).clamp(12, 60));
        Line::raw(fit(
            &format!("   {title}  {bar} {} {} {end}", right(&count, 11), right(&left, 9)),
            self.width,
        ))
    }

    /// Draws the column on the right: what is handed out next, and notes as they come.
    fn rail(&self, rows: usize) -> Vec<Line<'static>> {
        let snapshot = self.snapshot();
        let width = RAIL - 2;
        let mut text = vec![(rule(&format!("next of {} ready", snapshot.ready), "", width), None)];
        let first = self.screen.first_of(Section::Next);
        for (number, one) in self.window(&snapshot.next, Section::Next, RAIL_NEXT.min(rows / 2)) {
            let place = number - first + 1;
            text.push((fit(&format!("{place} P{} {}", one.priority, one.title), width), Some(number)));
        }
        let why = snapshot.awaited.as_ref().map_or_else(|| rows::why_next(&snapshot.next), rows::awaited);
        text.extend(wrap(&why, width).lines().map(|line| (fit(line, width), None)));
        text.push((rule("notes", "", width), None));
        text.extend(snapshot.notes.iter().flat_map(|note| self.note(note, width)).map(|line| (line, None)));
        text.truncate(rows);
        text.resize(rows, (String::new(), None));
        let line = |(line, number): (String, Option<usize>)| {
            let mark = if number == Some(self.screen.selected) { ">" } else { " " };
            Line::raw(fit(&format!("│{mark}{line}"), RAIL))
        };
        text.into_iter().map(line).collect()
    }

    fn note(&self, note: &NoteLine, width: usize) -> Vec<String> {
        let at = time(&self.look.clock, note.at_ms);
        let by = rows::without_host(&note.by, &self.snapshot().about.host);
        let mut lines = vec![fit(&format!("{at} {by}  {}", note.id), width)];
        let words = wrap(note.text.lines().next().unwrap_or_default(), width - 6);
        lines.extend(words.lines().take(NOTE_LINES).map(|line| fit(&format!("      {line}"), width)));
        lines
    }
}
