//! Ids derived from births, in cases that random births do not cover. The law itself is tested in `laws.rs`.

use beads_core::{Delta, Lineage, State};

use crate::support::ids::{self, Birth};
use crate::support::{actor, id, mark, value};

fn lineage((born, (ms, counter, by)): &Birth) -> Lineage {
    Lineage::new(id(born), mark(*ms, *counter, by).at(), actor(by))
}

#[test]
fn a_bead_gets_a_longer_id_if_all_shorter_ones_are_taken() {
    // After a dot there are only digits. Every 32 characters of a suffix come from another hash.
    const LONGEST_TAKEN: usize = 69;
    for born in ["bd-a", "bd-a.1"] {
        let birth = |born: String, ms: u64| -> Birth { (born, (ms, 0, "ann".to_owned())) };
        let loser = birth(born.to_owned(), 9);
        let rivals =
            (6..=LONGEST_TAKEN).map(|length| birth(format!("{born}{}", ids::suffix(&loser, length)), 2));
        let births = [birth(born.to_owned(), 1), loser.clone()].into_iter().chain(rivals).collect();
        let mut state = State::default();
        for birth in &births {
            let lineage = lineage(birth);
            let whole = value::birth(&lineage.mark());
            state.join_delta(&Delta::of_bead(lineage, whole)).unwrap();
        }
        let name = state.names().id_of(&lineage(&loser)).to_string();
        assert_eq!(name, ids::derive(&births).of[&loser]);
        assert_eq!(name.len(), born.len() + LONGEST_TAKEN + 1);
    }
}
