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
        Ok(payload) => match payload.delta.check_foreign() {
            Ok(()) => Ok(payload.delta),
            Err(error) => Err(invalid(error.to_string())),
        },
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

#[cfg(test)]
mod tests {
    use beads_core::Code;
    use beads_core::snapshot::FORMAT_VERSION;

    use super::*;

    /// Returns why a delta is refused.
    fn refused(payload: &str) -> String {
        let error = decode_payload(payload.as_bytes()).expect_err(payload);
        assert_eq!(error.code(), Code::HubRefused);
        error.to_string()
    }

    fn delta(json: &str) -> String {
        format!(r#"{{"version":1,"delta":{json}}}"#)
    }

    #[test]
    fn a_later_format_asks_for_an_upgrade() {
        let empty = encode_payload(&Delta::default()).unwrap();
        assert_eq!(decode_payload(&empty).unwrap(), Delta::default());
        let later = delta(&format!(r#"{{"format_version":{}}}"#, FORMAT_VERSION + 1));
        for payload in [r#"{"version":2,"other":1}"#, r#"{"version":2,"delta":{}}"#, &later] {
            assert!(refused(payload).contains("upgrade bd"), "{}", refused(payload));
        }
    }

    #[test]
    fn what_is_not_a_delta_is_refused() {
        let nested = delta(&format!(r#"{{"settings":{}}}"#, "[".repeat(200_000)));
        for payload in ["", "garbage", "{}", r#"{"version":1}"#, &delta(r#"{"evil":1}"#), &nested] {
            refused(payload);
        }
        assert!(refused(&" ".repeat(MAX_PAYLOAD_BYTES + 1)).contains("bytes"));
    }

    /// Joined, each of these would make files that no program can read again.
    #[test]
    fn what_would_spoil_the_store_is_refused() {
        let at = r#"[1700000000000,1]"#;
        let long = format!("bd-{}", "a".repeat(180));
        let bead = |id: &str| format!(r#"["{id}",{at},"mallory"]"#);
        let conflict = format!(
            r#"{{"bead":{},"field":"priority","value":"high","lost":[{at},"a"],"won":[{at},"b"]}}"#,
            bead("bd-1")
        );
        let edge = format!(
            r#"[{{"from":{},"to":{},"kind":"blocks"}},{{"created":[{at},"a"],"changed":[{at},"a"],"deleted":false}}]"#,
            bead("bd-1"),
            bead(&long)
        );
        let archived = format!(
            r#"{{"lineage":{},"body":{{}},"deletion":{{"mark":[{at},"a"],"reason":"none","archived":true}}}}"#,
            bead("bd-1")
        );
        for (json, reason) in [
            (r#"{"prefix":{"mark":null,"prefix":"evil"}}"#.to_owned(), "prefix has no stamp"),
            (format!(r#"{{"conflicts":[{conflict}]}}"#), "expected u64"),
            (format!(r#"{{"edges":[{edge}]}}"#), "too long"),
            (format!(r#"{{"beads":[{archived}]}}"#), "no reason"),
        ] {
            let refused = refused(&delta(&json));
            assert!(refused.contains(reason), "{json}: {refused}");
        }
    }
}
