//! One change to a project file.

use serde_json::Value;

use super::section::Marks;
use super::{Client, hooks, json_file};

/// The part of a file that bd writes.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A key of ours in an object of a JSON file.
    Entry { path: Vec<&'static str>, value: Value },
    /// A key that the file needs, with this default value.
    Default { path: Vec<&'static str>, value: Value },
    /// An element of ours in a list of a JSON file.
    Element { path: Vec<&'static str>, value: Value },
    /// Lines between two markers.
    Section { marks: Marks, text: &'static str },
    /// The instructions for agents; the first marker lists the clients that need them.
    Guide { text: &'static str },
    /// A whole file of ours, recognised by the text `ours_if`.
    Whole { text: String, ours_if: &'static str },
    /// The list of files that aider reads.
    AiderRead,
}

pub const MARKDOWN: Marks = Marks { begin: "<!-- BEGIN BEADS", close: " -->", end: "<!-- END BEADS -->" };
pub const HASH: Marks = Marks { begin: "# BEGIN BEADS", close: "", end: "# END BEADS" };

const AIDER: &str = "read: AGENTS.md\n";

impl Edit {
    /// Returns the file with our part. `clients` are all configured clients, including this one.
    pub fn with(&self, text: &str, clients: &[Client]) -> Result<String, String> {
        match self {
            Self::Entry { path, value } => json_file::with_entry(text, path, value),
            Self::Default { path, value } => json_file::with_default(text, path, value),
            Self::Element { path, value } => json_file::with_element(text, path, value, hooks::is_ours),
            Self::Section { marks, text: ours } => Ok(marks.with(text, "", ours)),
            Self::Guide { text: ours } => Ok(MARKDOWN.with(text, &remark(clients), ours)),
            Self::Whole { ours_if, .. } if !text.is_empty() && !text.contains(ours_if) => {
                Err("it was not written by bd setup".to_owned())
            }
            Self::Whole { text: ours, .. } => Ok(ours.clone()),
            Self::AiderRead => aider(text),
        }
    }

    /// Returns the file without our part. `left` are the clients that stay configured.
    pub fn without(&self, text: &str, left: &[Client]) -> Result<String, String> {
        match self {
            Self::Entry { path, .. } => json_file::without_entry(text, path),
            // The key may have been there before us, so it is removed only if nothing else is left.
            Self::Default { path, value } => json_file::without_lone_entry(text, path, value),
            Self::Element { path, .. } => json_file::without_elements(text, path, hooks::is_ours),
            Self::Section { marks, .. } => marks.without(text),
            Self::Guide { text: ours } if !left.is_empty() && MARKDOWN.remark(text).is_some() => {
                Ok(MARKDOWN.with(text, &remark(left), ours))
            }
            Self::Guide { .. } => MARKDOWN.without(text),
            Self::Whole { ours_if, .. } if text.contains(ours_if) => Ok(String::new()),
            Self::Whole { .. } => Ok(text.to_owned()),
            Self::AiderRead => HASH.without(text),
        }
    }
}

fn remark(clients: &[Client]) -> String {
    let names: Vec<&str> = clients.iter().map(|client| client.name()).collect();
    if names.is_empty() { String::new() } else { format!(" for {}", names.join(" ")) }
}

/// Adds our section. A YAML key must be unique, so an existing `read:` list must already name AGENTS.md.
fn aider(text: &str) -> Result<String, String> {
    let rest = HASH.without(text)?;
    let has_list = rest.lines().any(|line| line.starts_with("read:"));
    match (has_list, rest.contains("AGENTS.md")) {
        (true, true) => Ok(text.to_owned()),
        (true, false) => Err("its list `read:` is not ours; add AGENTS.md to it".to_owned()),
        (false, _) => Ok(HASH.with(text, "", AIDER)),
    }
}
