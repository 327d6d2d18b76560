//! A cached state must equal the state that the files are decoded to, before and after its beads are decoded.

use beads_core::{Catalog, Clock, Encoder, Snapshot, Stamp, State};
use proptest::prelude::*;

use crate::support::history::history;
use crate::support::world::World;
use crate::support::{assert_same, cases, decode};

fn cache(state: &State) -> (Vec<u8>, Snapshot) {
    let mut encoder = Encoder::default();
    let files = encoder.encode(state, None);
    encoder.give_back(files.clone());
    (encoder.cache().unwrap().parts().concat(), files)
}

/// Puts something before the bytes, as a file does.
fn open(cached: &[u8]) -> State {
    State::from_cache([b"header", cached].concat(), 6).unwrap()
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn it_equals_the_decoded_state(history in history(6..40)) {
        let world = World::play(&history);
        let others = world.files();
        for replica in &world.replicas {
            let (bytes, files) = cache(&replica.state);
            let decoded = decode(&files);
            prop_assert!(open(&bytes) == decoded);
            prop_assert!(open(&bytes).names() == decoded.names());
            prop_assert!(Catalog::from(open(&bytes)) == Catalog::from(decoded.clone()));
            assert_same("encoded without decoding", &open(&bytes).encode(), &files);
            let all: Vec<Stamp> = decoded.stamps().collect();
            for now_ms in all.iter().map(|stamp| stamp.ms()).chain([0, 1_000]) {
                let (mut one, mut other) = (Clock::new(Stamp::ZERO, 1), Clock::new(Stamp::ZERO, 1));
                open(&bytes).show_to(&mut one, now_ms);
                all.iter().for_each(|stamp| other.observe(*stamp, now_ms));
                prop_assert_eq!(one.last(), other.last());
            }
            for (other, keeps_copies) in others.iter().flat_map(|other| [(other, true), (other, false)]) {
                let (mut ours, mut theirs) = (open(&bytes), decoded.clone());
                let mut encoder = Encoder::default();
                let before = encoder.encode(&ours, None);
                encoder.give_back(before);
                if !keeps_copies {
                    encoder.drop_copies(0);
                }
                ours.join(&decode(other));
                theirs.join(&decode(other));
                assert_same("joined", &encoder.encode(&ours, None), &theirs.encode());
            }
        }
    }

    #[test]
    fn similar_titles_are_found_without_decoding_the_beads(history in history(6..20)) {
        let state = &World::play(&history).replicas[0].state;
        let decoded = Catalog::from(state.clone());
        let opened = Catalog::from(open(&cache(state).0));
        // The first search scans the titles, the second one builds an index.
        for (_, bead) in decoded.live() {
            let title = &bead.title.value;
            prop_assert_eq!(opened.similar(title, None), decoded.similar(title, None));
        }
    }

    #[test]
    fn copies_are_dropped_only_if_the_state_has_the_lines(history in history(6..20)) {
        let state = &World::play(&history).replicas[0].state;
        prop_assume!(state.beads().values().any(|bead| bead.is_live()));
        let (bytes, _) = cache(state);
        for (state, is_dropped) in [(state, false), (&open(&bytes), true)] {
            let plain = state.beads().iter().all(|(lineage, bead)| {
                bead.is_live() && state.names().id_of(lineage) == lineage.birth_id()
            });
            let mut encoder = Encoder::default();
            let files = encoder.encode(state, None);
            encoder.give_back(files);
            encoder.drop_copies(0);
            if plain || !is_dropped {
                prop_assert_eq!(encoder.cache().is_none(), is_dropped);
            }
        }
    }

    #[test]
    fn cut_bytes_are_refused(history in history(6..20)) {
        let world = World::play(&history);
        let (bytes, _) = cache(&world.replicas[0].state);
        for length in 0..bytes.len() {
            prop_assert!(State::from_cache(bytes[..length].to_vec(), 0).is_none(), "cut at {length}");
        }
    }
}
