//! A delta of the hub, which any member may have written.

use std::cell::RefCell;

use beads_core::{Delta, State};
use beads_store::hub::{decode_payload, encode_payload};

use crate::sample::machine_with_history;

fn history(seed: u64) -> State {
    machine_with_history(seed).replica.expect("it is open").catalog().state().clone()
}

/// Returns whole stores, and what one lacks that the next one has.
pub fn corpus() -> Vec<Vec<u8>> {
    let states: Vec<State> = (0..6).map(history).collect();
    let whole = states.iter().map(|state| Delta::between(&State::default(), state));
    let parts = states.windows(2).map(|pair| Delta::between(&pair[0], &pair[1]));
    whole.chain(parts).map(|delta| encode_payload(&delta).expect("it can be encoded")).collect()
}

thread_local! {
    static KNOWN: RefCell<State> = RefCell::new(history(0));
}

/// Joins the delta into a store, which must still be one that every program can read.
pub fn run(bytes: &[u8]) {
    let Ok(delta) = decode_payload(bytes) else { return };
    let mut state = KNOWN.with_borrow(State::clone);
    let delta = delta.without_unknown_beads(&state).0;
    if state.join_delta(&delta).is_err() {
        return;
    }
    let encoded = state.encode();
    let again = encoded.decode().expect("a joined state can be decoded").state;
    assert!(again.encode() == encoded, "encoding twice gives different bytes");
}
