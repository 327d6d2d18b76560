//! Evidence that a bead is done: a commit, a URL, or a command that was run.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Error, Lineage, Mark, Metadata, Note, Result, Word};

/// The kind of notes that hold evidence.
pub const EVIDENCE: &str = "evidence";

/// A piece of evidence: `commit:SHA`, `url:URL` or `cmd:TEXT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Evidence {
    kind: Kind,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Commit,
    Url,
    Cmd,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Commit, Self::Url, Self::Cmd];

    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Url => "url",
            Self::Cmd => "cmd",
        }
    }
}

impl Evidence {
    /// Returns the commit, if it is one.
    pub fn commit(&self) -> Option<&str> {
        (self.kind == Kind::Commit).then_some(self.value.as_str())
    }

    pub(crate) fn note(&self, lineage: &Lineage, mark: &Mark) -> Result<Note> {
        let data: Metadata = serde_json::from_value(json!({self.kind.name(): self.value}))
            .map_err(|error| Error::invalid("evidence", error.to_string()))?;
        Ok(Note::structured(lineage, mark, self.to_string().parse()?, EVIDENCE.parse::<Word>()?, data))
    }
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.value)
    }
}

impl std::str::FromStr for Evidence {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid =
            || Error::invalid("evidence", format!("{text:?} is not commit:SHA, url:URL or cmd:TEXT"));
        let (kind, value) = text.split_once(':').ok_or_else(invalid)?;
        let kind = Kind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(invalid)?;
        let value = value.trim();
        let fits = match kind {
            Kind::Commit => (7..=64).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_hexdigit()),
            Kind::Url => value.contains("://"),
            Kind::Cmd => !value.is_empty(),
        };
        if !fits {
            return Err(invalid());
        }
        Ok(Self { kind, value: value.to_owned() })
    }
}

impl TryFrom<String> for Evidence {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Evidence> for String {
    fn from(evidence: Evidence) -> Self {
        evidence.to_string()
    }
}
