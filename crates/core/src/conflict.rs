//! Conflicts. The last writer wins, but a value that lost to a concurrent write is kept until someone
//! dismisses the conflict. Conflicts are a grow-only set of records.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::planted::{Bug, is_planted};
use crate::{Error, Field, Lineage, Mark, Result, SharedBead, State};

/// The id of a conflict: `CONFLICT-` and 32 hexadecimal digits. The digits are a hash of bead, field and
/// losing write, so every replica gives the same conflict the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConflictId(Arc<str>);

crate::field::string_newtype!(ConflictId);

impl ConflictId {
    /// Returns the id of the conflict in which the write `lost` lost.
    pub fn new(bead: &Lineage, field: Field, lost: &Mark) -> Self {
        let digest = Sha256::digest(to_canonical(&(bead, field, lost)));
        Self(format!("CONFLICT-{}", &hex(&digest)[..32]).into())
    }
}

impl std::str::FromStr for ConflictId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.strip_prefix("CONFLICT-").unwrap_or_default();
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 32 || !digits.bytes().all(is_hex) {
            return Err(Error::invalid(
                "conflict",
                format!("{text:?} is not CONFLICT- followed by 32 hexadecimal digits"),
            ));
        }
        Ok(Self(text.into()))
    }
}

/// A record of a write that lost to a concurrent one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// The bead.
    pub bead: Lineage,
    /// The field that both sides wrote.
    pub field: Field,
    /// The losing value as plain JSON; null if the losing write cleared the field.
    #[serde(default)]
    pub value: Value,
    /// The mark of the losing write.
    pub lost: Mark,
    /// The mark of the latest write known to have won.
    pub won: Mark,
    /// Who dismissed the conflict and when, if someone did.
    #[serde(default)]
    pub dismissed: Option<Mark>,
}

impl Conflict {
    /// Returns the id of the conflict.
    pub fn id(&self) -> ConflictId {
        ConflictId::new(&self.bead, self.field, &self.lost)
    }

    /// Returns the lowest format version that can hold the losing value.
    pub(crate) fn format_version(&self) -> u64 {
        let has_word = |word: &str| self.value.get(word).is_some();
        if matches!(self.field, Field::Status | Field::Type)
            && (has_word("status_word") || has_word("type_word"))
        {
            2
        } else {
            1
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        if other.won > self.won {
            self.won = other.won.clone();
        }
        if other.dismissed > self.dismissed {
            self.dismissed.clone_from(&other.dismissed);
        }
        if self.value != other.value && to_canonical(&other.value) > to_canonical(&self.value) {
            self.value = other.value.clone();
        }
    }
}

/// Returns a conflict for each field that both sides set to different values since their merge base. Without
/// a `base`, every write after the creation of a bead counts.
pub fn concurrent_writes(ours: &State, theirs: &State, base: Option<&State>) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    if is_planted(Bug::ConflictsForgotten) {
        return conflicts;
    }
    for (lineage, mine) in ours.beads() {
        if let Some(yours) = theirs.bead(lineage) {
            let agreed = base.and_then(|base| base.bead(lineage));
            add_conflicts(lineage, (mine, yours), agreed, &mut conflicts);
        }
    }
    conflicts
}

/// Like [`concurrent_writes`], for the given beads only, each with its merge base.
pub fn concurrent_writes_to(
    beads: &BTreeMap<Lineage, Option<SharedBead>>,
    ours: &State,
    theirs: &State,
) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for (lineage, base) in beads {
        if let (Some(mine), Some(yours)) = (ours.bead(lineage), theirs.bead(lineage)) {
            add_conflicts(lineage, (mine, yours), base.as_ref(), &mut conflicts);
        }
    }
    conflicts
}

/// Adds a conflict for each field of a bead that both sides set to different values since `agreed`.
fn add_conflicts(
    lineage: &Lineage,
    (mine, yours): (&SharedBead, &SharedBead),
    agreed: Option<&SharedBead>,
    conflicts: &mut Vec<Conflict>,
) {
    // A hollow bead has no writes; those of the other side were made before or after it was archived.
    if mine == yours || mine.is_hollow() || yours.is_hollow() {
        return;
    }
    let agreed = agreed.filter(|bead| !bead.is_hollow());
    // A renewal only moves the end of a lease, so losing one loses no information.
    for field in Field::ALL.iter().copied().filter(|field| *field != Field::AssigneeExpires) {
        let birth = lineage.mark();
        let before = agreed.map_or(&birth, |bead| bead.mark(field));
        let (mine_at, yours_at) = (mine.mark(field), yours.mark(field));
        if mine_at == yours_at || mine_at == before || yours_at == before {
            continue;
        }
        let (loser, lost, won) =
            if mine_at < yours_at { (mine, mine_at, yours_at) } else { (yours, yours_at, mine_at) };
        let value = loser.value_json(field);
        if mine.value_json(field) != yours.value_json(field) {
            let (lost, won) = (lost.clone(), won.clone());
            conflicts.push(Conflict { bead: lineage.clone(), field, value, lost, won, dismissed: None });
        }
    }
}
