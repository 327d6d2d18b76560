//! Custom words for statuses and types, as in other trackers. A register stores one of our own values and,
//! next to it, the custom word. Imports, operations and filters use the same tables.

use serde::{Deserialize, Serialize};

use crate::{
    BeadType, Error, Result, STATUS_CUSTOM, State, Status, StatusGroup, TYPE_CUSTOM, TypeGroup, Word,
};

/// The built-in status words, the status that each stands for, and whether a bead with the word is set aside,
/// that is, not handed out as ready.
const STATUS_WORDS: &[(&str, Status, bool)] = &[
    ("blocked", Status::Open, true),
    ("deferred", Status::Open, true),
    ("pinned", Status::Open, true),
    ("hooked", Status::InProgress, false),
    ("review", Status::InProgress, false),
    ("cancelled", Status::Closed, false),
];

/// The built-in type words and the type that each stands for.
const TYPE_WORDS: &[(&str, BeadType)] = &[
    ("agent", BeadType::Task),
    ("convoy", BeadType::Task),
    ("decision", BeadType::Task),
    ("docs", BeadType::Task),
    ("enhancement", BeadType::Feature),
    ("event", BeadType::Task),
    ("gate", BeadType::Task),
    (MEMORY, BeadType::Chore),
    ("merge-request", BeadType::Task),
    ("message", BeadType::Task),
    ("milestone", BeadType::Task),
    ("molecule", BeadType::Task),
    ("question", BeadType::Task),
    ("role", BeadType::Task),
    ("slot", BeadType::Task),
    ("spike", BeadType::Task),
    ("story", BeadType::Task),
];

/// The type word of memories. They are never ready and are listed only on request.
pub const MEMORY: &str = "memory";

/// A status as a user writes it: one of our own values or a custom word. The settings of the store define
/// what a word means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StatusName(Word);

/// A type as a user writes it: one of our own values or a custom word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypeName(Word);

impl StatusName {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the status if it is not a custom word.
    pub fn plain(&self) -> Option<Status> {
        self.as_str().parse().ok()
    }

    /// Returns what it means in this store. If the store does not know the word, the error lists the words it
    /// knows.
    pub fn resolve(&self, state: &State) -> Result<StatusGroup> {
        if let Some(status) = self.plain() {
            return Ok(status.into());
        }
        let known = status_words(state);
        let Some((_, status, _)) = known.iter().find(|(word, ..)| word == self.as_str()) else {
            let ours = Status::ALL.map(Status::as_str).into_iter();
            let words = ours.chain(known.iter().map(|(word, ..)| word.as_str()));
            return Err(unknown("status", self.as_str(), words, STATUS_CUSTOM));
        };
        Ok(StatusGroup { word: Some(self.0.clone()), ..(*status).into() })
    }
}

impl TypeName {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the type if it is not a custom word.
    pub fn plain(&self) -> Option<BeadType> {
        self.as_str().parse().ok()
    }

    /// Returns what it means in this store. If the store does not know the word, the error lists the words it
    /// knows.
    pub fn resolve(&self, state: &State) -> Result<TypeGroup> {
        if let Some(kind) = self.plain() {
            return Ok(kind.into());
        }
        let known = type_words(state);
        let Some((_, kind)) = known.iter().find(|(word, _)| word == self.as_str()) else {
            let ours = BeadType::ALL.map(BeadType::as_str).into_iter();
            let words = ours.chain(known.iter().map(|(word, _)| word.as_str()));
            return Err(unknown("type", self.as_str(), words, TYPE_CUSTOM));
        };
        Ok(TypeGroup { kind: *kind, word: Some(self.0.clone()) })
    }
}

fn unknown<'a>(
    field: &'static str,
    text: &str,
    words: impl Iterator<Item = &'a str>,
    setting: &str,
) -> Error {
    let words = words.collect::<Vec<_>>().join(", ");
    Error::invalid(
        field,
        format!("{text:?} is not one of {words}; bd config set {setting} adds words to this store"),
    )
}

macro_rules! name_conversions {
    ($($name:ident from $plain:ident),*) => {$(
        impl From<$plain> for $name {
            fn from(plain: $plain) -> Self {
                Self(plain.as_str().parse().expect("our own values are valid words"))
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $plain::default().into()
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                // Our own values have more than one spelling.
                if let Ok(plain) = text.parse::<$plain>() {
                    return Ok(plain.into());
                }
                text.parse().map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

name_conversions!(StatusName from Status, TypeName from BeadType);

/// Returns the status of a built-in word.
pub(crate) fn known_status(word: &str) -> Option<Status> {
    STATUS_WORDS.iter().find(|(known, ..)| *known == word).map(|(_, status, _)| *status)
}

/// Returns the type of a built-in word.
pub(crate) fn known_type(word: &str) -> Option<BeadType> {
    TYPE_WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}

/// Returns whether a bead with this word is set aside until the word is removed.
pub(crate) fn sets_aside(state: &State, word: &Word) -> bool {
    match STATUS_WORDS.iter().find(|(known, ..)| *known == word.as_str()) {
        Some((_, _, aside)) => *aside,
        None => {
            let custom = custom_status(state.setting(STATUS_CUSTOM).unwrap_or_default());
            custom.is_ok_and(|custom| custom.iter().any(|(known, _, aside)| known == word.as_str() && *aside))
        }
    }
}

/// Returns all status words that the store knows, in addition to our own values.
fn status_words(state: &State) -> Vec<(String, Status, bool)> {
    let known = STATUS_WORDS.iter().map(|(word, status, aside)| ((*word).to_owned(), *status, *aside));
    let custom = custom_status(state.setting(STATUS_CUSTOM).unwrap_or_default()).unwrap_or_default();
    known.chain(custom).collect()
}

fn type_words(state: &State) -> Vec<(String, BeadType)> {
    let known = TYPE_WORDS.iter().map(|(word, kind)| ((*word).to_owned(), *kind));
    let custom = custom_type(state.setting(TYPE_CUSTOM).unwrap_or_default()).unwrap_or_default();
    known.chain(custom).collect()
}

/// Parses the value of `status.custom`: words separated by commas, each optionally with a status, as in
/// `qa:in_progress`. The categories of the Go `bd` are accepted too.
pub(crate) fn custom_status(value: &str) -> Result<Vec<(String, Status, bool)>> {
    entries(value)
        .map(|(word, meaning)| {
            let word: Word = word.parse()?;
            let (status, aside) = match meaning {
                None | Some("active" | "unspecified") => (Status::Open, false),
                Some("wip") => (Status::InProgress, false),
                Some("done") => (Status::Closed, false),
                Some("frozen") => (Status::Open, true),
                Some(status) => (status.parse()?, false),
            };
            if word.as_str().parse::<Status>().is_ok() || known_status(word.as_str()).is_some() {
                return Err(Error::invalid("status", format!("{word} already has a meaning")));
            }
            Ok((word.as_str().to_owned(), status, aside))
        })
        .collect()
}

/// Parses the value of `type.custom`: words separated by commas, each optionally with a type, as in
/// `rfc:epic`.
pub(crate) fn custom_type(value: &str) -> Result<Vec<(String, BeadType)>> {
    entries(value)
        .map(|(word, meaning)| {
            let word: Word = word.parse()?;
            let kind = meaning.map(str::parse).transpose()?.unwrap_or_default();
            if word.as_str().parse::<BeadType>().is_ok() || known_type(word.as_str()).is_some() {
                return Err(Error::invalid("type", format!("{word} already has a meaning")));
            }
            Ok((word.as_str().to_owned(), kind))
        })
        .collect()
}

fn entries(value: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let entries = value.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| match entry.split_once(':') {
        Some((word, meaning)) => (word.trim(), Some(meaning.trim())),
        None => (entry, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_words_are_mapped_as_documented() {
        let state = State::default();
        let status = |word: &str| word.parse::<StatusName>().unwrap().resolve(&state);
        for (word, plain) in [
            ("blocked", Status::Open),
            ("deferred", Status::Open),
            ("pinned", Status::Open),
            ("HOOKED", Status::InProgress),
            ("review", Status::InProgress),
            ("cancelled", Status::Closed),
        ] {
            let group = status(word).unwrap();
            assert_eq!((group.status, group.shown()), (plain, word.to_lowercase().as_str()));
        }
        assert_eq!(status("in-progress").unwrap(), Status::InProgress.into());
        let error = status("blokced").unwrap_err().to_string();
        assert!(error.contains("open, in_progress, closed, blocked, deferred"), "{error}");
        let kind = |word: &str| word.parse::<TypeName>().unwrap().resolve(&state);
        assert_eq!(kind("spike").unwrap().kind, BeadType::Task);
        assert_eq!(kind("memory").unwrap().kind, BeadType::Chore);
        assert_eq!(kind("bug").unwrap(), BeadType::Bug.into());
        assert!(kind("spyke").is_err());
    }

    #[test]
    fn custom_words_have_one_meaning() {
        assert_eq!(
            custom_status("qa:in_progress, someday:frozen ,idea").unwrap(),
            [
                ("qa".to_owned(), Status::InProgress, false),
                ("someday".to_owned(), Status::Open, true),
                ("idea".to_owned(), Status::Open, false),
            ]
        );
        assert_eq!(custom_type("rfc:epic,note").unwrap()[1], ("note".to_owned(), BeadType::Task));
        for bad in ["open", "blocked:closed", "qa:perhaps", "two words"] {
            assert!(custom_status(bad).is_err(), "{bad}");
        }
        assert!(custom_type("bug").is_err() && custom_type("rfc:saga").is_err());
    }
}
