//! Times as tools take them: RFC 3339, where the files have milliseconds.

use beads_core::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};

pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
}

/// For a field that null clears: absent, cleared, or a time.
pub fn given_or_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Timestamp>>, D::Error> {
    given(deserializer).map(Some)
}
