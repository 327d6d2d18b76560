//! The laws of the join, on encoded bytes, over random histories of several replicas.

use std::collections::BTreeSet;

use beads_core::{Delta, Snapshot, State};
use proptest::prelude::*;

use crate::support::history::history;
use crate::support::world::World;
use crate::support::{assert_same, cases, decode, ids, join, oracle};

proptest! {
    #![proptest_config(cases(4_000))]

    /// Any three sets of files that were ever sent obey the laws of a semilattice.
    #[test]
    fn join_is_commutative_associative_idempotent_and_absorbs(
        history in history(6..30),
        picks in proptest::collection::vec(any::<[prop::sample::Index; 3]>(), 3),
    ) {
        let world = World::play(&history);
        let mut pool = world.sent.clone();
        pool.extend(world.files());
        for [a, b, c] in &picks {
            semilattice(a.get(&pool), b.get(&pool), c.get(&pool));
        }
        let last = world.files();
        semilattice(&last[0], &last[1], &last[last.len() - 1]);
    }
}

fn semilattice(a: &Snapshot, b: &Snapshot, c: &Snapshot) {
    assert_same("idempotent", &join(a, a), a);
    let ab = join(a, b);
    assert_same("commutative", &ab, &join(b, a));
    assert_same("associative", &join(&ab, c), &join(a, &join(b, c)));
    assert_same("absorbs", &join(a, &ab), &ab);
    assert_same("join from the right absorbs", &join(&ab, b), &ab);
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// Neither encoding nor decoding loses anything.
    #[test]
    fn encoding_and_decoding_are_inverse(history in history(6..30)) {
        let world = World::play(&history);
        for replica in &world.replicas {
            let files = replica.state.encode();
            let decoded = decode(&files);
            prop_assert!(decoded == replica.state, "decode(encode(s)) != s");
            assert_same("encode(decode(b)) == b", &decoded.encode(), &files);
            let again = files.decode_again().unwrap().state;
            prop_assert!(again == decoded && again.names() == decoded.names(), "decode_again returns another state");
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// When all replicas have exchanged everything, each field holds the greatest write ever made to it,
    /// every bead, note and edge is present, and the ids are those that follow from the births.
    #[test]
    fn replicas_converge_and_no_write_is_lost(history in history(6..30), backwards in any::<bool>()) {
        let mut world = World::play(&history);
        let mut before = world.files();
        let converged = world.converge();
        for files in world.files() {
            assert_same("convergence", &files, &converged);
        }
        if backwards {
            before.reverse();
        }
        let mut folded = decode(&before[0]);
        for files in &before[1..] {
            folded.join(&decode(files));
        }
        folded.heal(&world.archive);
        assert_same("any order of merges", &folded.encode(), &converged);
        // Nothing is lost: what no replica has any more is in the archive.
        let mut whole = decode(&converged);
        let hollow = whole.archived().filter(|(_, bead)| bead.is_hollow());
        for lineage in hollow.map(|(lineage, _)| lineage.clone()).collect::<Vec<_>>() {
            prop_assert!(whole.thaw(&lineage, &world.archive), "the archive lacks {lineage:?}");
        }
        world.oracle.check(&whole.encode());
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// `join_delta` is a join: `(u ⊔ s) + d == u ⊔ (s + d)` for the state `s` that made `d` and any other
    /// `u`. A delta that creates a bead is a complete state, so then also `s + d == s ⊔ (∅ + d)`.
    #[test]
    fn joining_a_delta_is_a_join(history in history(6..24), other in any::<prop::sample::Index>()) {
        let world = World::play(&history);
        let other = decode(other.get(&world.sent));
        let mut state = State::default();
        for delta in world.deltas() {
            let mut before_and_delta = state.clone();
            if before_and_delta.join_delta(delta).is_err() {
                continue;
            }
            let mut taken = other.clone();
            taken.join(&state);
            taken.join_delta(delta).unwrap();
            let mut joined = other.clone();
            joined.join(&before_and_delta);
            assert_same("(u ⊔ s) + d == u ⊔ (s + d)", &taken.encode(), &joined.encode());
            let mut alone = State::default();
            if alone.join_delta(delta).is_ok() {
                let mut joined = state.clone();
                joined.join(&alone);
                assert_same("s + d == s ⊔ (∅ + d)", &joined.encode(), &before_and_delta.encode());
            }
            state = before_and_delta;
        }
    }

    /// What a state says about a delta before it takes it is what the join then does, and sharing memory with
    /// another state changes neither the state nor its difference to the other.
    #[test]
    fn a_state_knows_what_a_delta_would_change(history in history(6..24), other in any::<prop::sample::Index>()) {
        let world = World::play(&history);
        let mut state = decode(other.get(&world.sent));
        for delta in world.deltas() {
            let mut joined = state.clone();
            let taken = joined.join_delta(delta);
            prop_assert_eq!(state.accepts(delta), taken.is_ok());
            prop_assert_eq!(state.contains(delta), taken.is_ok() && joined == state);
            let difference = Delta::between(&state, &joined);
            let mut shared = decode(&state.encode());
            shared.share_memory_with(&joined);
            assert_same("shared memory", &shared.encode(), &state.encode());
            prop_assert_eq!(Delta::between(&shared, &joined), difference);
            state = joined;
            prop_assert!(taken.is_err() || state.contains(delta));
        }
    }

    /// A journal may be replayed onto any state that already contains part of it, in any order in which
    /// births come first. The result is what the replicas converge to.
    #[test]
    fn deltas_may_be_replayed_in_any_order(
        history in history(6..24),
        keys in proptest::collection::vec(any::<u8>(), 24),
        start in any::<prop::sample::Index>(),
    ) {
        let mut world = World::play(&history);
        let start = decode(start.get(&world.sent));
        let converged = world.converge();
        let mut deltas: Vec<_> = world.deltas().cloned().collect();
        for delta in &deltas {
            let journaled = serde_json::to_vec(delta).unwrap();
            prop_assert_eq!(&serde_json::from_slice::<Delta>(&journaled).unwrap(), delta);
        }
        let mut indexes = 0..;
        deltas.sort_by_cached_key(|delta| {
            let birth = State::default().join_delta(delta).is_ok() && !delta.beads.is_empty();
            (!birth, keys[indexes.next().unwrap_or(0) % keys.len()])
        });
        let (mut state, archive) = (start, world.archive.clone());
        for delta in deltas.iter().chain(deltas.iter().step_by(2)) {
            state.join_delta(delta).unwrap();
        }
        state.heal(&archive);
        // The deltas still have the content that the replicas gave up.
        let moved = |state: &mut State| {
            let mut all = archive.clone();
            all.join(&state.unmoved_content());
            state.hollow_out(&all);
            state.encode()
        };
        assert_same("replay", &moved(&mut state), &moved(&mut decode(&converged)));
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Names that are updated birth by birth equal those derived from all births at once, also by a second
    /// implementation of the rule.
    #[test]
    fn incremental_names_equal_names_from_scratch(history in history(6..40)) {
        let world = World::play(&history);
        for replica in &world.replicas {
            let names = replica.state.names();
            let from_scratch = decode(&replica.state.encode());
            prop_assert_eq!(names, from_scratch.names());
            let lineages = replica.state.beads().keys();
            let raw = |lineage: &beads_core::Lineage| (lineage.birth_id().to_string(), oracle::raw(&lineage.mark()));
            let expected = ids::derive(&lineages.clone().map(raw).collect::<BTreeSet<_>>());
            for lineage in lineages {
                prop_assert_eq!(names.id_of(lineage).as_str(), expected.of[&raw(lineage)].as_str());
                prop_assert_eq!(names.holder(names.id_of(lineage).as_str()), Some(lineage));
            }
            prop_assert_eq!(names.holders().count(), expected.of.len());
            let vacated = names.vacated().iter().map(|(id, lost)| {
                let mut now: Vec<_> = lost.iter().map(|lineage| names.id_of(lineage).to_string()).collect();
                now.sort();
                (id.to_string(), now)
            });
            prop_assert_eq!(vacated.collect::<std::collections::BTreeMap<_, _>>(), expected.remapped);
        }
    }
}
