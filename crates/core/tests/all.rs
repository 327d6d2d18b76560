//! The tests of `beads-core` in one program: each program of its own would compile the shared code again and link everything.
#![allow(clippy::unwrap_used, reason = "in a test a failed unwrap is the failure")]

mod claims;
mod clock_skew;
mod closed_stays_closed;
mod codes;
mod conflicts;
mod corners;
mod decode_damage;
mod decode_strict;
mod deltas;
mod export_legacy;
mod format_doc;
mod gc_floor;
mod import;
mod import_balance;
mod import_eras;
mod import_legacy_store;
mod import_omitted;
mod import_round_trip;
mod incremental;
mod laws;
mod merge_orders;
mod model;
mod names;
mod operations;
mod planning;
mod questions;
mod recap;
mod savepoint;
mod similar;
mod spellings;
mod state_cache;
mod support;
mod times;
mod undo;
mod words;

#[test]
fn every_file_belongs_to_a_program() {
    let (modules, manifest) = (include_str!("all.rs"), include_str!("../Cargo.toml"));
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        let is_module = modules.contains(&format!("\nmod {name};\n"));
        let is_program = manifest.contains(&format!("\nname = \"{name}\"\n"));
        assert!(is_module || is_program, "add `mod {name};` to all.rs");
    }
}
