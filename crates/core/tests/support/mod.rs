//! Random histories of several replicas and what must hold for them.

pub mod example;
pub mod files;
pub mod history;
pub mod ids;
pub mod import;
pub mod oracle;
pub mod side;
pub mod value;
pub mod world;

use beads_core::{Actor, BeadId, Mark, Snapshot, Stamp, State};
use proptest::test_runner::{Config, RngSeed};

/// Returns a configuration with the same cases in every run, so that failures are reproducible.
/// `PROPTEST_RNG_SEED` and `PROPTEST_CASES` override it.
pub fn cases(count: u32) -> Config {
    Config {
        cases: count,
        rng_seed: RngSeed::Fixed(0xbead),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    }
}

pub fn id(text: &str) -> BeadId {
    text.parse().unwrap()
}

pub fn actor(name: &str) -> Actor {
    name.parse().unwrap()
}

pub fn mark(ms: u64, counter: u32, by: &str) -> Mark {
    Mark::new(Stamp::decode(ms, counter).unwrap(), actor(by))
}

pub fn decode(files: &Snapshot) -> State {
    files.decode().unwrap_or_else(|error| panic!("{error}\n{}", show(files))).state
}

/// Joins two sets of files like replicas do: bytes in, bytes out.
pub fn join(a: &Snapshot, b: &Snapshot) -> Snapshot {
    let mut state = decode(a);
    state.join(&decode(b));
    state.encode()
}

pub fn show(files: &Snapshot) -> String {
    let shown = |(name, bytes): &(&str, &[u8])| format!("-- {name}\n{}", String::from_utf8_lossy(bytes));
    files.files().iter().map(shown).collect()
}

/// Asserts that two sets of files are equal. Prints both on failure.
pub fn assert_same(law: &str, left: &Snapshot, right: &Snapshot) {
    assert!(left == right, "{law}\n==== left\n{}==== right\n{}", show(left), show(right));
}
