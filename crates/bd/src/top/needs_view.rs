//! Draws *Needs you*: everything that no agent continues by itself, with the key that ends it.

use ratatui::text::Line;

use super::draw::Look;
use super::now_view::List;
use super::rows::{self, Columns, WIDE};
use super::screen::{Screen, Section};
use super::wording::fit;

/// Draws the view.
pub fn lines(screen: &Screen, look: &Look, width: usize, height: usize) -> Vec<Line<'static>> {
    let snapshot = &screen.snapshot;
    let list = List { screen, look, columns: Columns::of(snapshot, width >= WIDE), width };
    let remark = if width >= 60 { "by priority, then by how many wait behind" } else { "" };
    let mut lines = vec![list.rule(&format!("needs you {}", snapshot.need_count()), remark)];
    let all = &snapshot.needs;
    let remark = snapshot.stale_listed();
    let room = height.saturating_sub(1 + usize::from(remark.is_some()));
    let shown = if all.len() > room { room.saturating_sub(1) } else { room };
    for (number, one) in list.window(all, Section::Needs, shown) {
        let text = rows::need(one, list.columns, width.saturating_sub(6), snapshot.now_ms, &look.clock);
        lines.push(list.row(number, one.word(), &text));
    }
    match all.len() {
        0 if snapshot.sync.is_none() => lines.push(Line::raw(fit("      nothing needs you", width))),
        count if count > shown => {
            let more = format!("      Showing {shown} of {count}");
            lines.push(Line::raw(fit(&more, width)));
        }
        _ => {}
    }
    lines.extend(remark.map(|remark| Line::raw(fit(&format!("      {remark}"), width))));
    lines
}
