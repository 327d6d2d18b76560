//! `cargo bench -p beads-bench`: measures the core alone, without disk, socket or process.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up ends")]

use beads_bench::{Bench, create};
use beads_core::Catalog;
use beads_core::query::ReadyFilter;
use divan::{Bencher, black_box};

const SIZES: [usize; 2] = [1_000, 10_000];

fn main() {
    divan::main();
}

#[divan::bench(args = SIZES)]
fn encode(bencher: Bencher<'_, '_>, beads: usize) {
    let bench = Bench::new(beads).unwrap();
    bencher.bench(|| bench.catalog.state().encode());
}

#[divan::bench(args = SIZES)]
fn decode(bencher: Bencher<'_, '_>, beads: usize) {
    let snapshot = Bench::new(beads).unwrap().catalog.state().encode();
    bencher.bench(|| snapshot.decode().unwrap().state);
}

#[divan::bench(args = SIZES)]
fn index(bencher: Bencher<'_, '_>, beads: usize) {
    let bench = Bench::new(beads).unwrap();
    bencher.with_inputs(|| bench.catalog.state().clone()).bench_values(Catalog::from);
}

#[divan::bench(args = SIZES)]
fn join_the_same(bencher: Bencher<'_, '_>, beads: usize) {
    let bench = Bench::new(beads).unwrap();
    let theirs = bench.catalog.state().clone();
    bencher.with_inputs(|| theirs.clone()).bench_refs(|ours| ours.join(&theirs));
}

#[divan::bench(args = SIZES)]
fn decide_and_take_a_create(bencher: Bencher<'_, '_>, beads: usize) {
    let mut bench = Bench::new(beads).unwrap();
    let op = create(beads).unwrap();
    bencher.bench_local(move || {
        let applied = bench.apply(&op).unwrap();
        bench.catalog.join_delta(&applied.delta).unwrap()
    });
}

#[divan::bench(args = SIZES)]
fn the_first_fifty_ready(bencher: Bencher<'_, '_>, beads: usize) {
    let bench = Bench::new(beads).unwrap();
    let asked = ReadyFilter::default();
    bencher
        .bench(|| bench.catalog.ready_in_order(black_box(&asked), bench.now_ms()).unwrap().take(50).count());
}
