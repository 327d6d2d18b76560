//! The prefix: the part of minted ids before the dash. It is a register of the store.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_PREFIX_BYTES;
use crate::{Actor, Error, Mark, Result, Stamp};

/// Lower-case letters, digits and inner dashes, so that minted ids match the regular expression of contract
/// 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prefix(Arc<str>);

crate::field::string_newtype!(Prefix);

impl Default for Prefix {
    fn default() -> Self {
        Self("bd".into())
    }
}

impl std::str::FromStr for Prefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.strip_suffix('-').unwrap_or(text);
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        let bytes = text.as_bytes();
        if bytes.is_empty() || bytes.len() > MAX_PREFIX_BYTES {
            return Err(Error::invalid("prefix", format!("it must have 1 to {MAX_PREFIX_BYTES} characters")));
        }
        let ends_well = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        if !bytes.iter().all(|b| inner(*b)) || !ends_well(bytes[0]) || !ends_well(bytes[bytes.len() - 1]) {
            return Err(Error::invalid(
                "prefix",
                format!("{text:?} must be lower-case letters, digits and inner dashes, as in my-app"),
            ));
        }
        Ok(Self(text.into()))
    }
}

/// The prefix and who chose it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixRegister {
    /// Who chose the prefix and when. `None` if it is the default.
    pub mark: Option<Mark>,
    /// The prefix.
    pub prefix: Prefix,
}

impl PrefixRegister {
    /// Returns a prefix that `by` chose at `at`.
    pub fn chosen(prefix: Prefix, at: Stamp, by: Actor) -> Self {
        Self { mark: Some(Mark::new(at, by)), prefix }
    }
}
