use std::sync::Arc;

use crate::limits::MAX_WORD_BYTES;
use crate::{Error, Result};

/// A custom status, a custom type, or the kind of a note: lower-case letters, digits, `_` and `-`, starting
/// with a letter or digit.
// Input is converted to lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Word(Arc<str>);

super::string_newtype!(Word);

impl std::str::FromStr for Word {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let word = text.to_ascii_lowercase();
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let begins = word.bytes().next().is_some_and(plain);
        if !begins || !word.bytes().all(|byte| plain(byte) || matches!(byte, b'_' | b'-')) {
            let reason = format!("{text:?} is not a single word of letters, digits, _ and -");
            return Err(Error::invalid("word", reason));
        }
        if word.len() > MAX_WORD_BYTES {
            return Err(Error::invalid("word", format!("it is longer than {MAX_WORD_BYTES} bytes")));
        }
        Ok(Self(word.into()))
    }
}
