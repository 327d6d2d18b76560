//! Evidence: what a command printed, a diff, or where to look. It is kept in the log of a bead as the last line of a note.

use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::boundary;

/// What is longer belongs into a file; the log shows its ends.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// How a note's last line starts when it is evidence.
const MARK: &str = "artifact: ";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    external_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
    /// A text was longer than the log takes.
    #[serde(default, skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    CmdOutput,
    Diff,
    Url,
}

impl Artifact {
    /// Checked and cut to what the log takes.
    pub fn bounded(mut self) -> Result<Self, Failure> {
        let has = |fields: &[&Option<String>]| fields.iter().any(|field| field.is_some());
        let (whole, wanted) = match self.kind {
            Kind::CmdOutput => {
                (has(&[&self.command, &self.stdout, &self.stderr]), "command, stdout or stderr")
            }
            Kind::Diff => (has(&[&self.diff, &self.content]), "diff or content"),
            Kind::Url => (has(&[&self.url, &self.external_uri]), "url or external_uri"),
        };
        if !whole {
            return Err(Failure::invalid(format!("an artifact of this kind has {wanted}")));
        }
        let meta = serde_json::to_string(&self.meta).unwrap_or_default();
        if meta.len() > MAX_TEXT_BYTES {
            return Err(Failure::invalid(format!(
                "the meta of an artifact has at most {MAX_TEXT_BYTES} bytes"
            )));
        }
        let texts = [
            &mut self.command,
            &mut self.stdout,
            &mut self.stderr,
            &mut self.diff,
            &mut self.content,
            &mut self.url,
            &mut self.external_uri,
        ];
        for text in texts.into_iter().flatten().filter(|text| text.len() > MAX_TEXT_BYTES) {
            *text = ends(text);
            self.truncated = true;
        }
        Ok(self)
    }

    /// The note that carries it.
    pub fn note(&self, text: &str) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{}\n{MARK}{json}", text.trim_end()).trim_start().to_owned()
    }

    /// The evidence in a note, if it has any.
    pub fn of(note: &str) -> Option<Value> {
        let line = note.lines().next_back()?.strip_prefix(MARK)?;
        serde_json::from_str(line).ok()
    }
}

/// The beginning and the end: the command line and the error are there. The end begins with a whole word: the rest of one that was cut may be
/// the rest of a secret that nobody would recognise.
fn ends(text: &str) -> String {
    let half = MAX_TEXT_BYTES / 2 - 4;
    let (start, end) = (boundary::floor(text, half), boundary::ceil(text, text.len() - half));
    let word = text[end..].find(char::is_whitespace).unwrap_or(text.len() - end);
    format!("{}\n…\n{}", &text[..start], text[end + word..].trim_start())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn artifact(value: Value) -> Result<Artifact, Failure> {
        serde_json::from_value::<Artifact>(value)
            .map_err(|error| Failure::invalid(error.to_string()))?
            .bounded()
    }

    #[test]
    fn evidence_goes_into_a_note_and_comes_out_again() {
        let given =
            json!({"kind": "cmd_output", "command": "cargo test", "stdout": "ok\nfine", "exit_code": 0});
        let note = artifact(given.clone()).unwrap().note("All green");
        assert_eq!(note.lines().next(), Some("All green"));
        assert_eq!(Artifact::of(&note), Some(given));
        assert_eq!(Artifact::of("just text"), None);
    }

    #[test]
    fn no_half_of_a_secret_is_kept() {
        let secret = "ghp_abcdefghijklmnopqrstuvwxyz";
        for shift in 0..40 {
            let text = format!(
                "{}{secret} end{}",
                "x ".repeat(3_000),
                " y".repeat((MAX_TEXT_BYTES / 2 - 4 - shift) / 2)
            );
            let kept = artifact(json!({"kind": "diff", "diff": text})).unwrap().diff.unwrap();
            let shown = crate::mcp::redact::text(&kept);
            assert!(!shown.contains("wxyz"), "{shift}: {shown}");
        }
    }

    #[test]
    fn it_is_bounded_and_says_so() {
        let long = artifact(json!({"kind": "diff", "diff": "ä".repeat(9_000)})).unwrap();
        assert!(long.truncated);
        assert!(long.diff.unwrap().len() <= MAX_TEXT_BYTES);
        for bad in [
            json!({"kind": "url"}),
            json!({"kind": "movie", "url": "x"}),
            json!({"kind": "diff", "diff": "", "x": 1}),
        ] {
            assert!(artifact(bad.clone()).is_err(), "{bad}");
        }
    }
}
