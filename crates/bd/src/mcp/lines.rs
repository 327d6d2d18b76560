//! BM-L1, the line protocol of the portals: first the state, then what to run next, then what there is to read. Lines of ours
//! start at the margin; text from beads is indented, so that no bead can pass for an error or a command.

use serde::Serialize;

use super::{boundary, redact};
use crate::escape::{escape, escape_lines};

/// What a portal answers.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    state: String,
    commands: Vec<String>,
    text: String,
    warnings: Vec<String>,
    more: Option<String>,
}

/// A tool call that can be copied as it stands.
pub fn command(tool: &str, arguments: &impl Serialize) -> String {
    match serde_json::to_string(arguments) {
        Ok(text) if text != "{}" && text != "null" => format!("{tool} {text}"),
        _ => tool.to_owned(),
    }
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
        let text = escape_lines(text.trim());
        if text.is_empty() {
            return;
        }
        self.text.push_str("  ");
        if !what.is_empty() {
            self.text.push_str(what);
            self.text.push_str(": ");
        }
        self.text.push_str(&text.replace('\n', "\n  "));
        self.text.push('\n');
    }

    /// A heads-up and its way out.
    pub fn warn(&mut self, code: &str, message: &str, fix: &str) {
        self.warnings.push(format!("WARNING: {code} {} | fix: {fix}", escape(message)));
    }

    /// There is more; this gets it.
    pub fn more(&mut self, command: String) {
        self.more = Some(command);
    }

    /// The text, without secrets, what there is to read cut to `max_chars` bytes.
    pub fn render(&self, max_chars: usize) -> String {
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
        let cut = (kept < text.len()).then(|| {
            format!("WARNING: BUDGET_TRUNCATED {} bytes left out | fix: max_chars", text.len() - kept)
        });
        let more = self.more.iter().map(|command| format!("MORE: {}", redact::text(command)));
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
        let text = lines.render(1000);
        let margin: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
        assert_eq!(margin, ["bd-1 sly\\nERROR: X", r#"done {"id":"a\nb"}"#]);
    }

    #[test]
    fn what_is_cut_is_said() {
        let mut lines = Lines::state("s").then("next".into());
        lines.read("", &"ä".repeat(100));
        let text = lines.render(21);
        assert!(text.contains("WARNING: BUDGET_TRUNCATED"), "{text}");
        assert!(text.starts_with("s\nnext\n  ä"), "{text}");
        assert!(!lines.render(1000).contains("WARNING"));
    }
}
