use std::collections::BTreeMap;

use crate::limits::COUNTER_STEP;
use crate::{Catalog, Lineage, Stamp};

/// Writes of one replica within a millisecond are told apart up to this many.
const PER_MS: u64 = 1_000;

impl Catalog {
    /// Returns the revisions of beads: whole numbers that grow with every write to a bead, to its notes, or to a dependency at
    /// either end of it. Nothing is stored for them. They stay below 2^53, which is what JSON readers hold exactly.
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
    fn writes_within_a_millisecond_have_numbers_of_their_own() {
        let numbers: Vec<u64> =
            (0..5).map(|n| number(Stamp::decode(1_800_000_000_000, n * COUNTER_STEP + 7).unwrap())).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        assert!(numbers[4] < number(Stamp::decode(1_800_000_000_001, 7).unwrap()) && numbers[4] < 1 << 53);
    }
}
