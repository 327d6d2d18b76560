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
            for other in &others {
                let (mut ours, mut theirs) = (open(&bytes), decoded.clone());
                let mut encoder = Encoder::default();
                let before = encoder.encode(&ours, None);
                encoder.give_back(before);
                ours.join(&decode(other));
                theirs.join(&decode(other));
                assert_same("joined", &encoder.encode(&ours, None), &theirs.encode());
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
