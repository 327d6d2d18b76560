//! The payload of a delta: one record of the journal, in the journal's format.

use beads_core::Delta;
use serde::{Deserialize, Serialize};

use super::RowContent;
use crate::{Error, Result};

/// The maximum size of a payload. Larger changes are appended in parts.
pub const MAX_PAYLOAD_BYTES: usize = 32 * 1024 * 1024;

/// The version of the payload format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    version: u32,
    delta: Delta,
}

/// Encodes changes for the hub.
pub fn encode_payload(delta: &Delta) -> Result<Vec<u8>> {
    let payload = Payload { version: VERSION, delta: delta.clone() };
    serde_json::to_vec(&payload).map_err(|error| invalid(error.to_string()))
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
    let Version { version } = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    if version > VERSION {
        return Err(invalid(format!("it has format {version}; upgrade bd on this machine")));
    }
    let payload: Payload = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    Ok(payload.delta)
}

impl RowContent {
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
