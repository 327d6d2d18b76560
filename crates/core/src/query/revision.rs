use std::collections::BTreeMap;

use crate::limits::COUNTER_STEP;
use crate::{Catalog, Lineage, Stamp};

/// The most writes within a millisecond that get different revision numbers.
const PER_MS: u64 = 1_000;

impl Catalog {
    /// Returns the revision numbers of beads. A revision grows with every write to the bead, its notes or its
    /// dependencies in either direction. It is computed from the stamps, not stored, and stays below 2^53, so
    /// that every JSON reader represents it exactly.
    pub fn revisions<'a>(
        &'a self,
        beads: impl IntoIterator<Item = &'a Lineage>,
    ) -> BTreeMap<&'a Lineage, u64> {
        let stamps = |lineage| Some(self.bead(lineage)?.updated().at());
        let mut newest: BTreeMap<&Lineage, Stamp> =
            beads.into_iter().filter_map(|lineage| Some((lineage, stamps(lineage)?))).collect();
        for (key, edge) in self.state().edges() {
            for end in [&key.from, &key.to] {
                if let Some(stamp) = end.lineage().and_then(|end| newest.get_mut(end)) {
                    *stamp = (*stamp).max(edge.changed.at());
                }
            }
        }
        newest.into_iter().map(|(lineage, stamp)| (lineage, number(stamp))).collect()
    }
}

fn number(stamp: Stamp) -> u64 {
    let within = u64::from(stamp.counter() / COUNTER_STEP).min(PER_MS - 1);
    stamp.ms().saturating_mul(PER_MS).saturating_add(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_within_a_millisecond_have_different_revisions() {
        let numbers: Vec<u64> =
            (0..5).map(|n| number(Stamp::decode(1_800_000_000_000, n * COUNTER_STEP + 7).unwrap())).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        assert!(numbers[4] < number(Stamp::decode(1_800_000_000_001, 7).unwrap()) && numbers[4] < 1 << 53);
    }
}
