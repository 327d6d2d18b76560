//! Times as tools take them, which is as every interface does; the files have milliseconds.

use beads_core::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};

use crate::moment;

pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| moment::read(&text).map_err(D::Error::custom)).transpose()
}

/// For a field that null clears: absent, cleared, or a time.
pub fn given_or_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Timestamp>>, D::Error> {
    given(deserializer).map(Some)
}
