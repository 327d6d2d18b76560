//! Draws the screen. States are words, so that nothing depends on color.

use beads_core::counted;
use beads_engine::escape::escape;
use beads_engine::render::wrap;
use beads_engine::request::LocalClock;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget};
use unicode_width::UnicodeWidthStr;

use super::input::KEYS;
use super::rows::WIDE;
use super::screen::{Mode, Screen, View};
use super::snapshot::{Snapshot, SyncTrouble};
use super::wording::{duration, fit, right, rule, time};
use super::{needs_view, night_view, now_view};

/// The most lines of a message.
const MESSAGE_LINES: usize = 3;

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
        Mode::List | Mode::Typing { .. } => view(screen, look, width, height),
    };
    let footer = footer(screen, width);
    let above = height.saturating_sub(footer.len());
    lines.truncate(above);
    lines.resize(above, Line::default());
    lines.extend(footer);
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

/// Draws the view that the reader has chosen.
fn view(screen: &Screen, look: &Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let snapshot = &screen.snapshot;
    let mut lines = vec![header(snapshot, look, width)];
    lines.extend(snapshot.sync.as_ref().map(|sync| sync_line(snapshot, sync, look, width)));
    let rows = height.saturating_sub(lines.len() + 1);
    lines.extend(match screen.view {
        View::Now => now_view::lines(screen, look, width, rows),
        View::Needs => needs_view::lines(screen, look, width, rows),
        View::Night => night_view::lines(screen, look, width, rows),
    });
    lines
}

fn sync_line(snapshot: &Snapshot, sync: &SyncTrouble, look: &Look, width: usize) -> Line<'static> {
    let lasts = duration(snapshot.now_ms.saturating_sub(sync.since_ms));
    let is_wide = width >= WIDE;
    let tries = if is_wide { format!(" ({})", counted(sync.attempts, "try")) } else { String::new() };
    let waiting = counted(sync.waiting, "change");
    let wait = if sync.waiting == 1 { "waits" } else { "wait" };
    let unheard = sync.unheard.as_ref().filter(|_| is_wide).map(|(hosts, at)| {
        format!("; nothing is known of {} since {}", hosts.join(", "), time(&look.clock, *at))
    });
    let unheard = unheard.unwrap_or_default();
    let left = format!("SYNC FAILS for {lasts}: {}{tries}. {waiting} {wait} here{unheard}.", sync.message);
    let line = format!("{}{}", fit(&left, width.saturating_sub(8)), right("s sync", 8.min(width)));
    Line::styled(line, look.paint("gone"))
}

/// Draws the first line: the four answers.
fn header(snapshot: &Snapshot, look: &Look, width: usize) -> Line<'static> {
    let (working, all) = snapshot.working();
    let needs = snapshot.need_count();
    let need = if needs == 1 { "needs" } else { "need" };
    let about = &snapshot.about;
    let (clock, stuck) = (&look.clock, snapshot.stuck.len());
    let now = beads_core::Timestamp::from_ms(snapshot.now_ms).ok();
    let parts = |name: String, closed: String, behind: String| {
        let working = format!("{working} of {all} working");
        [name, closed, format!("{stuck} stuck{behind}"), working, format!("{needs} {need} you")]
    };
    let short = parts(escape(&about.name).into_owned(), format!("{} closed", snapshot.closed), String::new());
    let mut left = short.join("   ");
    let mut right_text = now.map(|now| clock.at(now)).unwrap_or_default();
    if width >= WIDE {
        let behind = match snapshot.behind {
            0 => String::new(),
            1 => ", 1 waits behind".to_owned(),
            count if stuck == 1 => format!(", {count} wait behind it"),
            count => format!(", {count} wait behind them"),
        };
        let name = escape(&format!("{} on {}", about.name, about.host)).into_owned();
        let closed = format!("{} closed since {}", snapshot.closed, time(clock, snapshot.since_ms));
        let long = parts(name, closed, behind);
        let roomy = long.join("      ");
        left = if roomy.width() + 19 <= width { roomy } else { long.join("   ") };
        right_text = now.map(|now| clock.day(now)).unwrap_or_default();
    }
    let end = (right_text.width() + 1).min(width);
    let line = format!("{}{}", fit(&left, width - end), right(&right_text, end));
    Line::styled(line, Style::new().add_modifier(Modifier::BOLD))
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

/// Returns the last lines: the line being typed, the last message, or the keys.
fn footer(screen: &Screen, width: usize) -> Vec<Line<'static>> {
    let line = |text: &str| Line::raw(fit(text, width));
    if let Mode::Typing { purpose, line: typed } = &screen.mode {
        return vec![line(&format!("{}: {typed}_", purpose.prompt()))];
    }
    if let Some(message) = screen.footnote() {
        let text = wrap(message, width.max(1));
        return text.lines().take(MESSAGE_LINES).map(line).collect();
    }
    let filter = match screen.filter.is_empty() {
        true => String::new(),
        false => format!("find: {} (esc shows all)  ", screen.filter),
    };
    let keys = match &screen.mode {
        Mode::Help => "any key goes back",
        Mode::Page { .. } => "j k scroll  esc back",
        _ => list_keys(screen.view, width),
    };
    vec![line(&format!("{filter}{keys}"))]
}

/// Returns the keys of a view, as many as fit.
fn list_keys(view: View, width: usize) -> &'static str {
    match (view, width >= WIDE) {
        (View::Now, true) => {
            "j k move   enter open   tab next pane   m message   t take back   x close   c new   / find   \
             1 now  2 needs you  3 night   u undo   ? keys   q quit"
        }
        (View::Now, false) => "j k move  enter open  m message  t take back  x close  / find  ? keys  q quit",
        (View::Needs, true) => {
            "j k move   enter open, answer   m message   t take back   x close   p priority   / find   1 now  2 needs you  \
             3 night   u undo   ? keys   q quit"
        }
        (View::Needs, false) => {
            "j k move  enter open  m message  t take back  x close  1 now  3 night  ? keys"
        }
        (View::Night, _) => "j k move  enter open  1 now  2 needs you  / find  ? keys  q quit",
    }
}

impl Look {
    /// Returns the style of a word.
    pub fn paint(&self, word: &str) -> Style {
        if !self.color {
            return Style::new();
        }
        match word {
            "gone" | "you" | "loop" | "both" | "sync" => Style::new().fg(Color::Red),
            "slow" | "free" | "hold" | "late" | "?" => Style::new().fg(Color::Yellow),
            "work" => Style::new().fg(Color::Blue),
            "idle" => Style::new().fg(Color::DarkGray),
            _ => Style::new(),
        }
    }
}
