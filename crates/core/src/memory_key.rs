//! The keys of memories.

use crate::limits::MAX_MEMORY_KEY_CHARS;
use crate::op::Create;
use crate::words::MEMORY;
use crate::{Bead, Error, Op, Result, Text};

/// The maximum number of words in a key that is derived from a text.
const MAX_WORDS: usize = 6;

/// The key of a memory. The bead stores it in `external_ref` as `memory:KEY`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryKey(String);

impl MemoryKey {
    /// Returns the text of the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Derives a key from the first words of a text.
    pub fn from_text(text: &str) -> Result<Self> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut key = String::new();
        for word in words.take(MAX_WORDS) {
            let length = key.chars().count() + usize::from(!key.is_empty()) + word.chars().count();
            if length > MAX_MEMORY_KEY_CHARS {
                break;
            }
            if !key.is_empty() {
                key.push('-');
            }
            key.push_str(word);
        }
        key.parse().map_err(|_| Error::invalid("key", "no key can be derived from this text; choose one"))
    }

    /// Returns the key of a memory, or its id if it was created without a key. Returns `None` if the bead is
    /// not a memory.
    pub(crate) fn of_bead<'a>(bead: &'a Bead, id: &'a str) -> Option<&'a str> {
        let reference = bead.external_ref.value.as_str();
        let key = reference.strip_prefix(MEMORY).and_then(|rest| rest.strip_prefix(':'));
        bead.is_memory().then(|| key.filter(|key| !key.is_empty()).unwrap_or(id))
    }

    /// Returns the operation that stores a text under this key. Existing memories with the same key are
    /// unchanged.
    pub fn remember(&self, text: Text) -> Result<Op> {
        if text.as_str().trim().is_empty() {
            return Err(Error::invalid("text", "the text to remember is empty"));
        }
        Ok(Op::Create(Box::new(Create {
            kind: MEMORY.parse()?,
            description: text,
            external_ref: format!("{MEMORY}:{self}").parse()?,
            ..Create::titled(self.0.parse()?)
        })))
    }
}

impl std::str::FromStr for MemoryKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        if text.is_empty() || text.chars().count() > MAX_MEMORY_KEY_CHARS || text.contains(is_odd) {
            let rule = format!("{text:?} is not 1 to {MAX_MEMORY_KEY_CHARS} characters without spaces");
            return Err(Error::invalid("key", rule));
        }
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Display for MemoryKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_derived_from_the_first_words() {
        for (text, key) in [
            ("The CI needs `git` 2.40!", "the-ci-needs-git-2-40"),
            ("one two three four five six seven", "one-two-three-four-five-six"),
            ("  Überraschung: größer", "überraschung-größer"),
            (&format!("short {}", "x".repeat(100)), "short"),
        ] {
            assert_eq!(MemoryKey::from_text(text).unwrap().as_str(), key);
        }
        for text in ["", "?!", &"x".repeat(100)] {
            assert!(MemoryKey::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_have_no_spaces_and_a_maximum_length() {
        assert!("build/ci:cache.v2".parse::<MemoryKey>().is_ok());
        for key in ["", "two words", "a\tb", "a\u{7}b", &"x".repeat(MAX_MEMORY_KEY_CHARS + 1)] {
            assert!(key.parse::<MemoryKey>().is_err(), "{key:?}");
        }
    }
}
