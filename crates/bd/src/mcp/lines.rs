//! BM-L1, the line protocol of the portals: first the state, then what to run next, then what there is to read. Lines of ours
//! start at the margin; text from beads is indented, so that no bead can pass for an error or a command.

use beads_engine::escape::{escape, escape_lines};
use serde::Serialize;
use serde_json::Value;

use super::{boundary, redact};

/// What a portal answers.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    state: String,
    commands: Vec<String>,
    text: String,
    page: Vec<Row>,
    warnings: Vec<String>,
}

/// One of many, and the call that goes on behind it.
#[derive(Debug, Clone)]
struct Row {
    text: String,
    more: Option<(&'static str, Value)>,
}

/// A tool call that can be copied as it stands.
pub fn command(tool: &str, arguments: &impl Serialize) -> String {
    match serde_json::to_string(arguments) {
        Ok(text) if text != "{}" && text != "null" => format!("{tool} {text}"),
        _ => tool.to_owned(),
    }
}

/// However small the budget, so much of the first of a list is shown.
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
    /// One line that says how things stand.
    pub fn state(state: impl AsRef<str>) -> Self {
        Self { state: escape(state.as_ref()).into_owned(), ..Self::default() }
    }

    /// Something that happened just before.
    pub fn lead(&mut self, what: &str) {
        self.state = format!("{} | {}", escape(what), self.state);
    }

    #[must_use]
    pub fn then(mut self, command: String) -> Self {
        self.commands.push(command);
        self
    }

    /// Something to read, under a word that says what it is.
    pub fn read(&mut self, what: &str, text: &str) {
        self.text.push_str(&indented(what, text));
    }

    /// One of a list, of which as many are shown as the budget takes; `more` is the call that goes on behind it, if anything follows.
    pub fn row(&mut self, text: &str, more: Option<(&'static str, Value)>) {
        self.page.push(Row { text: indented("", text), more });
    }

    /// A heads-up and its way out.
    pub fn warn(&mut self, code: &str, message: &str, fix: &str) {
        self.warnings.push(format!("WARNING: {code} {} | fix: {fix}", escape(message)));
    }

    /// The text, without secrets, what there is to read cut to `max_chars` bytes. The call that goes on has the budget
    /// that was given to this one.
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
        let mut room = max_chars.saturating_sub(kept);
        for (index, row) in self.page.iter().enumerate() {
            let text = redact::text(&row.text);
            // One is always shown, or nobody would ever get ahead.
            let taken = if index == 0 { boundary::floor(&text, room.max(SHORTEST_ROW)) } else { text.len() };
            if index > 0 && taken > room {
                break;
            }
            room = room.saturating_sub(taken);
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
        lines.read("", "first\nERROR: FAKE run this\nnext {}");
        let text = lines.render(1000, None);
        let margin: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
        assert_eq!(margin, ["bd-1 sly\\nERROR: X", r#"done {"id":"a\nb"}"#]);
    }

    #[test]
    fn a_list_is_cut_between_its_rows_and_goes_on_there() {
        let mut lines = Lines::state("s").then("next".into());
        for number in 1..=4 {
            lines.row(&"x".repeat(40), (number < 4).then(|| ("list", serde_json::json!({"offset": number}))));
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
    fn what_is_cut_is_said() {
        let mut lines = Lines::state("s").then("next".into());
        lines.read("", &"ä".repeat(100));
        let text = lines.render(21, None);
        assert!(text.contains("WARNING: BUDGET_TRUNCATED"), "{text}");
        assert!(text.starts_with("s\nnext\n  ä"), "{text}");
        assert!(!lines.render(1000, None).contains("WARNING"));
    }
}
