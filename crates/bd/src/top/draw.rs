//! Draws the screen. States are words, so that nothing depends on color.

use beads_core::counted;
use beads_engine::escape::escape;
use beads_engine::request::LocalClock;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};

use super::input::KEYS;
use super::rows::{self, Columns, RAIL, Share, WIDE};
use super::screen::{Mode, Screen};
use super::snapshot::{Epic, Snapshot};
use super::wording::{duration, fit, right, rule};

/// How the screen is drawn for one reader.
#[derive(Debug, Clone)]
pub struct Look {
    /// Whether words are colored.
    pub color: bool,
    /// The clock of the reader.
    pub clock: LocalClock,
}

/// Draws the screen into a buffer.
pub fn draw(screen: &Screen, look: &Look, area: Rect, buffer: &mut Buffer) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = match &screen.mode {
        Mode::Help => help(width),
        Mode::Page { title, text, top } => page(title, text, *top, width),
        Mode::List | Mode::Typing { .. } => now(screen, look, width, height),
    };
    lines.truncate(height.saturating_sub(1));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(footer(screen, width));
    Paragraph::new(lines).render(area, buffer);
}

/// Returns the screen as text, one line per row without trailing spaces.
pub fn text(screen: &Screen, look: &Look, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(screen, look, area, &mut buffer);
    let mut out = String::new();
    for row in 0..height {
        let line: String = (0..width).map(|column| buffer[(column, row)].symbol()).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Draws what the agents do now.
fn now(screen: &Screen, look: &Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let snapshot = &screen.snapshot;
    let is_wide = width >= WIDE;
    let mut lines = vec![header(snapshot, look, width)];
    lines.extend(snapshot.sync.as_ref().map(|sync| {
        let lasts = duration(snapshot.now_ms.saturating_sub(sync.since_ms));
        let tries = if is_wide { format!(" ({})", counted(sync.attempts, "try")) } else { String::new() };
        let waiting = counted(sync.waiting, "change");
        let wait = if sync.waiting == 1 { "waits" } else { "wait" };
        let left = format!("SYNC FAILS for {lasts}: {}{tries}. {waiting} {wait} here.", sync.message);
        let line = format!("{}{}", fit(&left, width.saturating_sub(8)), right("s sync", 8.min(width)));
        Line::styled(line, look.paint("gone"))
    }));
    let left_width = if is_wide { width - RAIL } else { width };
    let share = Share::of(snapshot, height.saturating_sub(lines.len() + 1), is_wide);
    let list = List { screen, look, columns: Columns::of(snapshot, is_wide), width: left_width };
    let mut left = list.lines(share);
    if !is_wide {
        lines.extend(left);
        return lines;
    }
    let rows = height.saturating_sub(lines.len() + 1);
    left.resize(rows, Line::default());
    let rail = list.rail(rows, share);
    for (mut line, rail) in left.into_iter().zip(rail) {
        let used = line.width();
        line.push_span(Span::raw(" ".repeat(left_width.saturating_sub(used))));
        line.spans.extend(rail.spans);
        lines.push(line);
    }
    lines
}

fn header(snapshot: &Snapshot, look: &Look, width: usize) -> Line<'static> {
    let (working, all) = snapshot.working();
    let needs = snapshot.needs.len() + usize::from(snapshot.sync.is_some());
    let need = if needs == 1 { "needs" } else { "need" };
    let left = format!(
        "{}   {} closed   {} stuck   {working} of {all} working   {needs} {need} you",
        escape(&snapshot.name),
        snapshot.closed,
        snapshot.stuck.len(),
    );
    let time =
        beads_core::Timestamp::from_ms(snapshot.now_ms).map(|time| look.clock.at(time)).unwrap_or_default();
    let line = format!("{}{}", fit(&left, width.saturating_sub(6)), right(&time, 6.min(width)));
    Line::styled(line, Style::new().add_modifier(Modifier::BOLD))
}

/// The sections of the view.
struct List<'a> {
    screen: &'a Screen,
    look: &'a Look,
    columns: Columns,
    width: usize,
}

impl List<'_> {
    fn lines(&self, share: Share) -> Vec<Line<'static>> {
        let snapshot = &self.screen.snapshot;
        let mut lines = self.stuck(share.stuck);
        if share.agents > 0 {
            lines.extend(self.agents(share.agents));
        }
        if share.epics > 0 {
            let title = format!("epics {}", snapshot.epics.len());
            lines.push(Line::raw(rule(&title, "closed of all", self.width)));
            lines.extend(snapshot.epics.iter().take(share.epics).map(|epic| self.epic(epic)));
        }
        if share.needs > 0 {
            let title = format!("needs you {}", snapshot.needs.len());
            lines.push(Line::raw(rule(&title, "", self.width)));
            lines.extend(snapshot.needs.iter().take(share.needs).map(|need| {
                let kind = need.need.replace('_', " ");
                let text = need.text.as_deref().or(need.actor.as_deref()).unwrap_or_default();
                let id = fit(&need.id, self.columns.id);
                let line = format!(" {} {id} {} {kind}: {text}", right("you", 4), fit(&need.title, 36));
                Line::raw(fit(&line, self.width))
            }));
        }
        if share.next > 0 {
            let title = format!("next of {} ready", snapshot.ready);
            lines.push(Line::raw(rule(&title, &rows::why_next(&snapshot.next), self.width)));
            lines.extend(self.next(share.next));
        }
        lines
    }

    fn stuck(&self, count: usize) -> Vec<Line<'static>> {
        let stuck = &self.screen.snapshot.stuck;
        let remark = if self.width >= WIDE - RAIL { "by how many wait behind" } else { "" };
        let mut lines = vec![Line::raw(rule(&format!("stuck {}", stuck.len()), remark, self.width))];
        let (now_ms, clock) = (self.screen.snapshot.now_ms, &self.look.clock);
        for (number, one) in self.window(stuck, 0, count) {
            let text = rows::stuck(one, self.columns, self.width.saturating_sub(6), now_ms, clock);
            lines.push(self.row(number, one.word, &text));
        }
        if stuck.is_empty() {
            lines.push(Line::raw(fit("      nothing is stuck", self.width)));
        }
        lines
    }

    fn agents(&self, count: usize) -> Vec<Line<'static>> {
        let agents = &self.screen.snapshot.agents;
        let first = self.screen.snapshot.stuck.len();
        let title = format!("agents {}", agents.len());
        let mut lines = vec![Line::raw(rule(&title, "last sign, in hand", self.width))];
        let shown = if agents.len() > count { count.saturating_sub(1) } else { count };
        let mut hidden = agents.clone();
        for (number, one) in self.window(agents, first, shown) {
            let text =
                rows::agent(one, self.columns, self.width.saturating_sub(6), self.screen.snapshot.now_ms);
            lines.push(self.row(number, one.word(), &text));
            hidden.retain(|other| other.name != one.name);
        }
        if agents.is_empty() {
            lines.push(Line::raw(fit("      no recent agent", self.width)));
        } else if agents.len() > shown {
            let more = format!("      {} more: {}", hidden.len(), rows::counts(&hidden));
            lines.push(Line::raw(fit(&more, self.width)));
        }
        lines
    }

    fn next(&self, count: usize) -> Vec<Line<'static>> {
        let snapshot = &self.screen.snapshot;
        let first = snapshot.stuck.len() + snapshot.agents.len();
        let mut lines = Vec::new();
        for (number, one) in self.window(&snapshot.next, first, count) {
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
    fn window<'a, T>(
        &self,
        all: &'a [T],
        first: usize,
        count: usize,
    ) -> impl Iterator<Item = (usize, &'a T)> {
        let selected = self.screen.selected.checked_sub(first).filter(|index| *index < all.len());
        let skip = selected.map_or(0, |index| (index + 1).saturating_sub(count));
        all.iter().enumerate().skip(skip).take(count).map(move |(index, one)| (first + index, one))
    }

    /// Returns a row: a mark if it is selected, its word and its text.
    fn row(&self, number: usize, word: &str, text: &str) -> Line<'static> {
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
        let done = (epic.closed * BAR).checked_div(epic.total).unwrap_or(0).min(BAR);
        let bar = format!("{}{}", "=".repeat(done), ".".repeat(BAR - done));
        let count = format!("{} of {}", epic.closed, epic.total);
        let left = format!("{} left", epic.total.saturating_sub(epic.closed));
        let title = fit(&epic.title, 38);
        Line::raw(fit(&format!("   {title}  {bar} {} {}", right(&count, 11), right(&left, 9)), self.width))
    }

    /// Draws the column on the right: what is handed out next, and notes as they come.
    fn rail(&self, rows: usize, share: Share) -> Vec<Line<'static>> {
        let snapshot = &self.screen.snapshot;
        let width = RAIL - 2;
        let mut text = vec![];
        // The rule of the first section runs across the whole screen, beside the stuck beads.
        text.push((rule(&format!("next of {} ready", snapshot.ready), "", width), None));
        let first = snapshot.stuck.len() + snapshot.agents.len();
        let count = 8.max(share.stuck).min(rows / 2);
        for (number, one) in self.window(&snapshot.next, first, count) {
            text.push((fit(&format!("P{} {} {}", one.priority, one.id, one.title), width - 1), Some(number)));
        }
        let why = rows::why_next(&snapshot.next);
        text.extend((!why.is_empty()).then(|| (fit(&why, width), None)));
        text.push((rule("notes", "", width), None));
        for note in &snapshot.notes {
            let at = beads_core::Timestamp::from_ms(note.at_ms);
            let at = at.map(|at| self.look.clock.at(at)).unwrap_or_default();
            text.push((fit(&format!("{at} {} {}", note.by, note.id), width), None));
            let words = beads_engine::render::wrap(note.text.lines().next().unwrap_or_default(), width - 6);
            text.extend(words.lines().take(4).map(|line| (fit(&format!("      {line}"), width), None)));
        }
        text.truncate(rows);
        text.resize(rows, (String::new(), None));
        let line = |(line, number): (String, Option<usize>)| {
            let mark = if number == Some(self.screen.selected) { ">" } else { "" };
            Line::raw(fit(&format!("│ {mark}{line}"), RAIL))
        };
        text.into_iter().map(line).collect()
    }
}

fn help(width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw(rule("keys", "", width))];
    lines.extend(KEYS.iter().map(|(key, what)| Line::raw(fit(&format!(" {key:<6} {what}"), width))));
    lines
}

fn page(title: &str, text: &str, top: usize, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw(rule(title, "esc back", width))];
    lines.extend(text.lines().skip(top).map(|line| Line::raw(fit(line, width))));
    lines
}

/// Returns the last line: the line being typed, the last message, or the keys.
fn footer(screen: &Screen, width: usize) -> Line<'static> {
    if let Mode::Typing { purpose, line } = &screen.mode {
        let prompt = format!("{}: {line}_", purpose.prompt());
        return Line::raw(fit(&prompt, width));
    }
    if let Some(message) = &screen.message {
        return Line::raw(fit(message, width));
    }
    let filter = match screen.filter.is_empty() {
        true => String::new(),
        false => format!("find: {} (esc shows all)  ", screen.filter),
    };
    let keys = match &screen.mode {
        Mode::Help => "any key goes back",
        Mode::Page { .. } => "j k scroll  esc back",
        _ => "j k move  enter open  m message  t take back  x close  / find  ? keys  q quit",
    };
    Line::raw(fit(&format!("{filter}{keys}"), width))
}

impl Look {
    fn paint(&self, word: &str) -> Style {
        if !self.color {
            return Style::new();
        }
        match word {
            "gone" | "you" | "loop" => Style::new().fg(Color::Red),
            "slow" | "free" | "?" => Style::new().fg(Color::Yellow),
            "work" => Style::new().fg(Color::Blue),
            "idle" => Style::new().fg(Color::DarkGray),
            _ => Style::new(),
        }
    }
}
