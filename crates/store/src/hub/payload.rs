//! The payload of a delta: one record of the journal, in the journal's format.

use beads_core::Delta;
use serde::{Deserialize, Serialize};

use super::RowContent;
use crate::{Error, Result};

/// The maximum size of a payload. Larger changes are appended in parts.
pub const MAX_PAYLOAD_BYTES: usize = 32 * 1024 * 1024;

/// The version of the payload format.
const VERSION: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    version: u32,
    delta: Delta,
}

/// Encodes changes for the hub.
pub fn encode_payload(delta: &Delta) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Payload<'a> {
        version: u32,
        delta: &'a Delta,
    }
    serde_json::to_vec(&Payload { version: VERSION, delta }).map_err(|error| invalid(error.to_string()))
}

/// Decodes a payload. Any member of the hub may have written it.
pub fn decode_payload(bytes: &[u8]) -> Result<Delta> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    if bytes.len() > MAX_PAYLOAD_BYTES {
        return Err(invalid(format!("it has {} bytes", bytes.len())));
    }
    let newer = |version: u32| invalid(format!("it has format {version}; upgrade bd on this machine"));
    match serde_json::from_slice::<Payload>(bytes) {
        Ok(payload) if payload.version > VERSION => Err(newer(payload.version)),
        Ok(payload) => Ok(payload.delta),
        // A later format may have other fields.
        Err(error) => match serde_json::from_slice(bytes) {
            Ok(Version { version }) if version > VERSION => Err(newer(version)),
            _ => Err(invalid(error.to_string())),
        },
    }
}

impl RowContent {
    /// Returns whether the changes certainly fit into one record of the journal, which encodes them in the same
    /// way, even with some conflicts.
    pub(crate) fn fits_a_record(&self) -> bool {
        match self {
            Self::Payload(bytes) => bytes.len() <= MAX_PAYLOAD_BYTES / 4,
            Self::Grant(_) => true,
        }
    }

    /// Returns the changes.
    pub fn delta(&self) -> Result<Delta> {
        match self {
            Self::Payload(bytes) => decode_payload(bytes),
            Self::Grant(grant) => Ok(grant.delta()),
        }
    }
}

fn invalid(reason: String) -> Error {
    Error::HubInvalid(reason)
}
