//! Bead ids and their syntax.

use std::sync::Arc;

use crate::limits::{MAX_DERIVED_ID_BYTES, MAX_ID_BYTES};
use crate::{Error, Result};

/// 1–128 bytes of `[A-Za-z0-9._-]`, starting with a letter or digit and containing a `-`. Minted ids also
/// match the regular expression of contract 1; ids from other tools need not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeadId(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// Returns the schema of an input, with the same checks as the type.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(generator, crate::schema::new_id())
}

impl BeadId {
    /// Returns the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns an id that sorts before all others. Real ids are never empty.
    pub(crate) fn least() -> Self {
        Self("".into())
    }

    /// Returns whether a bead may be created with this id. Only a collision makes longer ids.
    pub fn is_valid_birth_id(&self) -> bool {
        self.0.len() <= MAX_ID_BYTES
    }

    /// Returns a birth id with a suffix, for a bead that lost its id in a collision.
    pub(crate) fn derived(birth: &Self, suffix: &str) -> Self {
        Self(format!("{birth}{suffix}").into())
    }

    /// Returns the number `n` if this is `<parent>.<n>`.
    pub fn child_number(&self, parent: &Self) -> Option<u64> {
        let digits = self.0.strip_prefix(parent.as_str())?.strip_prefix('.')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    }
}

impl std::str::FromStr for BeadId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |reason: &str| Err(Error::invalid("id", format!("{text:?} {reason}")));
        if text.is_empty() || text.len() > MAX_DERIVED_ID_BYTES {
            return invalid("is empty or too long");
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
            return invalid("may only have letters, digits, '.', '_' and '-'");
        }
        if !text.as_bytes()[0].is_ascii_alphanumeric() {
            return invalid("must start with a letter or digit");
        }
        if !text.contains('-') {
            return invalid("must contain a '-', as in bd-a1");
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for BeadId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BeadId> for String {
    fn from(id: BeadId) -> Self {
        id.as_str().to_owned()
    }
}

crate::field::string_json!(BeadId, std::str::FromStr::from_str);

impl std::borrow::Borrow<str> for BeadId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for BeadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl std::fmt::Debug for BeadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_exactly_what_the_format_allows() {
        for good in ["bd-a1", "bd-a1.3", "beads_rust-07b", "A-1", "x-", "offlinebrew-cb64c226.10"] {
            assert_eq!(good.parse::<BeadId>().unwrap().as_str(), good);
        }
        let long = format!("bd-{}", "a".repeat(190));
        for bad in
            ["", "bd", "-bd", ".a-b", "../etc-passwd", "bd-a b", "bd-ä", "bd-a\n", "_a-b", long.as_str()]
        {
            assert!(bad.parse::<BeadId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn child_numbers_are_parsed_from_the_text() {
        let parent: BeadId = "bd-a".parse().unwrap();
        let number = |id: &str| id.parse::<BeadId>().unwrap().child_number(&parent);
        assert_eq!(number("bd-a.7"), Some(7));
        assert_eq!(number("bd-a.7.1"), None);
        assert_eq!(number("bd-a."), None);
        assert_eq!(number("bd-ab.7"), None);
    }
}
