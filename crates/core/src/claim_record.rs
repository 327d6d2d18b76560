//! What a claim ref points at: who got a bead, by the one order that all machines share, the remote's.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::{Actor, Error, Lineage, Result, Stamp};

/// Where claim refs are, unless the store says otherwise. Refs outside `refs/heads` start no CI and show no branch.
pub const CLAIM_REFS: &str = "refs/beads/claims/";

/// The replicated setting that puts the claim refs elsewhere.
pub const CLAIM_REF_PREFIX: &str = "claim.ref_prefix";

/// The file in the tree of a claim ref's commit.
pub const CLAIM_FILE: &str = "claim.json";

/// How much of a lineage's hash names its ref: 80 bits, so that no two beads of a store meet.
const NAME_DIGITS: usize = 20;

/// More than any record needs: names of actors and ids are bounded.
const MAX_RECORD_BYTES: usize = 16 * 1024;

/// Whether the claim is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimState {
    Live,
    /// It ended, and the next claim replaces this value.
    Over,
}

/// One value of a claim ref. It carries the length of the lease and no time, so that no two clocks are ever compared. The
/// fields stand in byte order, as canonical JSON has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRecord {
    /// The same from the claim until its end, whatever session or process renews it.
    pub claim: String,
    /// That of the claim in the store; of one that is over, the last stamp that the claim register had.
    pub fence: Stamp,
    pub holder: Actor,
    pub lease_ms: u64,
    pub lineage: Lineage,
    pub state: ClaimState,
}

impl ClaimRecord {
    pub fn encode(&self) -> Vec<u8> {
        to_canonical(self)
    }

    /// Reads what may come from anybody who can push. Only what [`encode`](Self::encode) writes is taken.
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

    pub fn is_live(&self) -> bool {
        self.state == ClaimState::Live
    }

    /// The value that ends the claim, with a fence that the next claim has to beat.
    pub fn over(&self, last: Stamp) -> Self {
        Self { state: ClaimState::Over, fence: self.fence.max(last), ..self.clone() }
    }
}

impl Lineage {
    /// The last part of the name of its claim ref.
    pub fn claim_name(&self) -> String {
        hex(&Sha256::digest(to_canonical(self)))[..NAME_DIGITS].to_owned()
    }

    /// How much a machine prefers this bead to others that are as good: every machine has an order of its own, so that
    /// several at once spread over the work instead of racing for the first of it.
    pub fn preference(&self, machine: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(machine.as_bytes());
        hash.update([0]);
        hash.update(to_canonical(self));
        hash.finalize().into()
    }
}

/// Checks a value of [`CLAIM_REF_PREFIX`]: a directory of refs, below `refs/` and not one that git or the store uses.
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
        assert_eq!(sorted.to_string(), text, "the fields stand in byte order");
    }

    #[test]
    fn nothing_else_is_a_record() {
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
    fn the_end_keeps_the_higher_fence() {
        let later = Stamp::decode(1_800_000_000_000, 7).unwrap();
        assert_eq!(record().over(later).fence, later);
        assert_eq!(record().over(Stamp::ZERO).fence, record().fence);
        assert!(!record().over(later).is_live());
    }

    #[test]
    fn every_machine_has_an_order_of_its_own() {
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
    fn a_prefix_names_a_directory_of_refs_that_nothing_else_uses() {
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
