//! Evidence: the output of a command, a diff, or a URL. It is stored in a bead's log as the last line of a
//! note.

use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::boundary;

/// The log keeps only the beginning and the end of a longer text.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// The prefix of the last line of a note that has evidence.
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
    /// Whether a text was too long and was cut.
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
    /// Checks the artifact and cuts long texts.
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
            return Err(Failure::invalid(format!("an artifact of this kind needs {wanted}")));
        }
        let meta = serde_json::to_string(&self.meta).unwrap_or_default();
        if meta.len() > MAX_TEXT_BYTES {
            return Err(Failure::invalid(format!(
                "the meta of an artifact is limited to {MAX_TEXT_BYTES} bytes"
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
            *text = keep_ends(text);
            self.truncated = true;
        }
        Ok(self)
    }

    /// Returns the note with the artifact appended.
    pub fn note(&self, text: &str) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{}\n{MARK}{json}", text.trim_end()).trim_start().to_owned()
    }

    /// Returns the artifact in a note, if it has one.
    pub fn from_note(note: &str) -> Option<Value> {
        let line = note.lines().next_back()?.strip_prefix(MARK)?;
        serde_json::from_str(line).ok()
    }
}

/// Keeps the beginning and the end of a text, where the command line and the error are. The end starts with a
/// whole word, because half a secret would not be recognized as one.
fn keep_ends(text: &str) -> String {
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
    fn an_artifact_survives_the_round_trip_through_a_note() {
        let given =
            json!({"kind": "cmd_output", "command": "cargo test", "stdout": "ok\nfine", "exit_code": 0});
        let note = artifact(given.clone()).unwrap().note("All green");
        assert_eq!(note.lines().next(), Some("All green"));
        assert_eq!(Artifact::from_note(&note), Some(given));
        assert_eq!(Artifact::from_note("just text"), None);
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
    fn a_long_artifact_is_cut_and_marked_as_truncated() {
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
