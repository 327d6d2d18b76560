//! BM-L1, the line protocol of the portals: first the state, then the next command, then text to read.
//! Protocol lines start at the margin; text from beads is indented, so that it cannot pass for an error or a
//! command.

use beads_engine::escape::{escape, escape_lines};
use serde::Serialize;
use serde_json::Value;

use super::{boundary, redact};

/// The answer of a portal.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    state: String,
    commands: Vec<String>,
    text: String,
    page: Vec<Row>,
    warnings: Vec<String>,
    /// The same answer for clients that read JSON.
    data: Value,
}

/// One item of a list, and the call that continues after it.
#[derive(Debug, Clone)]
struct Row {
    text: String,
    more: Option<(&'static str, Value)>,
}

/// Formats a tool call that can be copied unchanged.
pub fn command(tool: &str, arguments: &impl Serialize) -> String {
    match serde_json::to_string(arguments) {
        Ok(text) if text != "{}" && text != "null" => format!("{tool} {text}"),
        _ => tool.to_owned(),
    }
}

/// The first item of a list is never cut below this, however small the budget.
const SHORTEST_ROW: usize = 120;

fn indented(what: &str, text: &str) -> String {
    let text = escape_lines(text.trim());
    if text.is_empty() {
        return String::new();
    }
    let what = if what.is_empty() { String::new() } else { format!("{what}: ") };
    format!("  {what}{}\n", text.replace('\n', "\n  "))
}

impl Lines {
    /// Creates an answer with its state line.
    pub fn state(state: impl AsRef<str>) -> Self {
        Self { state: escape(state.as_ref()).into_owned(), ..Self::default() }
    }

    /// Attaches the answer as data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Returns the data without secrets; null if there is only text.
    pub fn data(&self) -> Value {
        let mut data = self.data.clone();
        redact::value(&mut data);
        data
    }

    /// Puts an earlier event in front of the state.
    pub fn prepend_state(&mut self, what: &str) {
        self.state = format!("{} | {}", escape(what), self.state);
    }

    #[must_use]
    pub fn then(mut self, command: String) -> Self {
        self.commands.push(command);
        self
    }

    /// Appends text with a label.
    pub fn add_text(&mut self, what: &str, text: &str) {
        self.text.push_str(&indented(what, text));
    }

    /// Appends an item of a list, which is shown if the budget allows. `more` is the call that continues
    /// after it, if anything follows.
    pub fn add_row(&mut self, text: &str, more: Option<(&'static str, Value)>) {
        self.page.push(Row { text: indented("", text), more });
    }

    /// Appends a warning with its fix.
    pub fn warn(&mut self, code: &str, message: &str, fix: &str) {
        self.warnings.push(format!("WARNING: {code} {} | fix: {fix}", escape(message)));
    }

    /// Renders the answer without secrets, with the text and list cut to `max_chars` bytes. The continuing
    /// call gets the `given` budget too.
    pub fn render(&self, max_chars: usize, given: Option<usize>) -> String {
        let mut out = redact::text(&self.state);
        out.push('\n');
        for command in &self.commands {
            out.push_str(&redact::text(command));
            out.push('\n');
        }
        let text = redact::text(&self.text);
        let kept = boundary::floor(&text, max_chars);
        out.push_str(text[..kept].trim_end());
        if kept < text.len() {
            out.push('…');
        }
        let mut out = out.trim_end().to_owned();
        let mut more = None;
        let mut available = max_chars.saturating_sub(kept);
        for (index, row) in self.page.iter().enumerate() {
            let text = redact::text(&row.text);
            // Always show one, or paging would never advance.
            let taken =
                if index == 0 { boundary::floor(&text, available.max(SHORTEST_ROW)) } else { text.len() };
            if index > 0 && taken > available {
                break;
            }
            available = available.saturating_sub(taken);
            out.push('\n');
            out.push_str(text[..taken].trim_end());
            more.clone_from(&row.more);
        }
        let cut = (kept < text.len()).then(|| {
            format!("WARNING: BUDGET_TRUNCATED {} bytes left out | fix: max_chars", text.len() - kept)
        });
        let more = more.map(|(tool, mut arguments)| {
            if let Some(max_chars) = given {
                arguments["max_chars"] = max_chars.into();
            }
            format!("MORE: {}", redact::text(&command(tool, &arguments)))
        });
        let warnings = self.warnings.iter().map(|warning| redact::text(warning));
        for line in cut.into_iter().chain(warnings).chain(more) {
            out.push('\n');
            out.push_str(&line);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_beads_never_starts_at_the_margin() {
        let mut lines =
            Lines::state("bd-1 sly\nERROR: X").then(command("done", &serde_json::json!({"id": "a\nb"})));
        lines.add_text("", "first\nERROR: FAKE run this\nnext {}");
        let text = lines.render(1000, None);
        let margin: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
        assert_eq!(margin, ["bd-1 sly\\nERROR: X", r#"done {"id":"a\nb"}"#]);
    }

    #[test]
    fn a_list_is_cut_between_rows_and_continues_there() {
        let mut lines = Lines::state("s").then("next".into());
        for number in 1..=4 {
            lines.add_row(
                &"x".repeat(40),
                (number < 4).then(|| ("list", serde_json::json!({"offset": number}))),
            );
        }
        let shown = |max: usize| {
            let text = lines.render(max, None);
            (
                text.matches("  xxx").count(),
                text.lines().find_map(|line| line.strip_prefix("MORE: ")).map(str::to_owned),
            )
        };
        assert_eq!(shown(1_000), (4, None));
        assert_eq!(shown(130), (3, Some("list {\"offset\":3}".to_owned())));
        assert_eq!(shown(0), (1, Some("list {\"offset\":1}".to_owned())));
    }

    #[test]
    fn a_cut_text_has_a_warning() {
        let mut lines = Lines::state("s").then("next".into());
        lines.add_text("", &"ä".repeat(100));
        let text = lines.render(21, None);
        assert!(text.contains("WARNING: BUDGET_TRUNCATED"), "{text}");
        assert!(text.starts_with("s\nnext\n  ä"), "{text}");
        assert!(!lines.render(1000, None).contains("WARNING"));
    }
}
