//! The content of a claim ref. The remote decides which machine gets a bead, because it orders all updates of
//! the ref.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::{Actor, Error, Lineage, Result, Stamp};

/// The default prefix of claim refs. Refs outside `refs/heads` do not trigger CI and are not shown as
/// branches.
pub const CLAIM_REFS: &str = "refs/beads/claims/";

/// The replicated setting that overrides the prefix of claim refs.
pub const CLAIM_REF_PREFIX: &str = "claim.ref_prefix";

/// The name of the file in the commit that a claim ref points to.
pub const CLAIM_FILE: &str = "claim.json";

/// The length of a claim ref's name: 80 bits of the lineage's hash, so that no two beads of a store collide.
const NAME_DIGITS: usize = 20;

/// An upper bound for the size of a record. Actors and ids are bounded, so no valid record is larger.
const MAX_RECORD_BYTES: usize = 16 * 1024;

/// Whether a claim is held or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimState {
    /// The claim is held.
    Live,
    /// The claim has ended. The next claim replaces this value.
    Over,
}

/// The value of a claim ref. It holds the length of the lease and no time, so that the clocks of two machines
/// are never compared. The fields are declared in byte order, which is the order of canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRecord {
    /// The id of the claim. It stays the same until the claim ends, whichever session or process renews it.
    pub claim: String,
    /// The fence of the claim in the store. For an ended claim, the last stamp of the claim register.
    pub fence: Stamp,
    /// The actor who holds the bead.
    pub holder: Actor,
    /// The length of the lease.
    pub lease_ms: u64,
    /// The claimed bead.
    pub lineage: Lineage,
    /// Whether the claim is held.
    pub state: ClaimState,
}

impl ClaimRecord {
    /// Returns the canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        to_canonical(self)
    }

    /// Parses a record. Anyone who can push may have written it, so only the exact output of
    /// [`encode`](Self::encode) is accepted.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |reason: String| Error::invalid("claim record", reason);
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(bad(format!("has {} bytes", bytes.len())));
        }
        let record: Self = serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
        if record.encode() != bytes {
            return Err(bad("is not canonical".to_owned()));
        }
        Ok(record)
    }

    /// Returns whether the claim is held.
    pub fn is_live(&self) -> bool {
        self.state == ClaimState::Live
    }

    /// Returns the record that ends the claim, with a fence that the next claim has to exceed.
    pub fn ended(&self, last: Stamp) -> Self {
        Self { state: ClaimState::Over, fence: self.fence.max(last), ..self.clone() }
    }
}

impl Lineage {
    /// Returns the last part of the name of the bead's claim ref.
    pub fn claim_name(&self) -> String {
        hex(&Sha256::digest(to_canonical(self)))[..NAME_DIGITS].to_owned()
    }

    /// Returns a key by which a machine orders beads of equal rank. Every machine has a different order, so
    /// that machines spread over the work instead of racing for the same bead.
    pub fn preference(&self, machine: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(machine.as_bytes());
        hash.update([0]);
        hash.update(to_canonical(self));
        hash.finalize().into()
    }
}

/// Checks a value of [`CLAIM_REF_PREFIX`]. It must be a directory below `refs/` that neither git nor the
/// store uses.
pub fn check_ref_prefix(prefix: &str) -> Result<()> {
    let bad = |reason: &str| Err(Error::invalid(CLAIM_REF_PREFIX, reason.to_owned()));
    if prefix.is_empty() {
        return Ok(());
    }
    let Some(inner) = prefix.strip_prefix("refs/").and_then(|rest| rest.strip_suffix('/')) else {
        return bad("must begin with refs/ and end with /, such as refs/heads/beads-claims/");
    };
    let plain = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !part.is_empty() && part.bytes().all(fits)
    };
    if !inner.split('/').all(plain) || !inner.contains('/') {
        return bad("must name a directory below refs/, of letters, digits, - and _");
    }
    let taken = ["heads/beads/", "tags/", "remotes/", "beads/seen/", "beads/backup/"];
    if taken.iter().any(|taken| format!("{inner}/").starts_with(taken)) {
        return bad("is used for other refs");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ClaimRecord {
        let at = Stamp::decode(1_700_000_000_000, 65_543).unwrap();
        ClaimRecord {
            claim: "00ff".to_owned(),
            fence: at,
            holder: "ann".parse().unwrap(),
            lease_ms: 7_200_000,
            lineage: Lineage::new("bd-1".parse().unwrap(), at, "bob".parse().unwrap()),
            state: ClaimState::Live,
        }
    }

    #[test]
    fn a_record_is_canonical_json() {
        let text = r#"{"claim":"00ff","fence":[1700000000000,65543],"holder":"ann","lease_ms":7200000,"lineage":["bd-1",[1700000000000,65543],"bob"],"state":"live"}"#;
        assert_eq!(String::from_utf8(record().encode()).unwrap(), text);
        assert_eq!(ClaimRecord::decode(text.as_bytes()).unwrap(), record());
        let sorted: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(sorted.to_string(), text, "the fields are in byte order");
    }

    #[test]
    fn anything_but_a_canonical_record_is_rejected() {
        let text = String::from_utf8(record().encode()).unwrap();
        for wrong in [
            text.replace("live", "dead"),
            text.replace("{\"claim\"", "{ \"claim\""),
            text.replace("\"state\"", "\"more\":1,\"state\""),
            text.replace("[1700000000000,65543],\"holder\"", "[9999999999999,1],\"holder\""),
            format!("{text}\n"),
            text[..text.len() - 1].to_owned(),
            String::new(),
        ] {
            assert!(ClaimRecord::decode(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let long = ClaimRecord { claim: "f".repeat(MAX_RECORD_BYTES), ..record() };
        assert!(ClaimRecord::decode(&long.encode()).is_err());
    }

    #[test]
    fn an_ended_record_keeps_the_higher_fence() {
        let later = Stamp::decode(1_800_000_000_000, 7).unwrap();
        assert_eq!(record().ended(later).fence, later);
        assert_eq!(record().ended(Stamp::ZERO).fence, record().fence);
        assert!(!record().ended(later).is_live());
    }

    #[test]
    fn every_machine_has_a_different_order() {
        let at = Stamp::decode(1, 7).unwrap();
        let lineage = |id: &str| Lineage::new(id.parse().unwrap(), at, "bob".parse().unwrap());
        let all: Vec<_> = (0..30).map(|n| lineage(&format!("bd-{n}"))).collect();
        let first = |machine: &str| all.iter().min_by_key(|one| one.preference(machine)).unwrap();
        let chosen: std::collections::BTreeSet<_> = (0..8).map(|n| first(&format!("m{n}"))).collect();
        assert!(chosen.len() > 4, "{chosen:?}");
        assert_eq!(all[0].claim_name().len(), NAME_DIGITS);
        assert_ne!(all[0].claim_name(), all[1].claim_name());
    }

    #[test]
    fn a_ref_prefix_is_an_unused_directory_of_refs() {
        for good in ["", "refs/beads/claims/", "refs/heads/beads-claims/", "refs/heads/x/y/"] {
            assert!(check_ref_prefix(good).is_ok(), "{good}");
        }
        for bad in [
            "refs/",
            "refs/heads/",
            "refs/heads/x",
            "heads/x/",
            "refs/heads/../x/",
            "refs/heads/a b/",
            "refs/heads/beads/store/",
            "refs/tags/x/",
            "refs//x/",
            "refs/heads/*/",
        ] {
            assert!(check_ref_prefix(bad).is_err(), "{bad}");
        }
    }
}
