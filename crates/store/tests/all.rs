//! The tests of `beads-store` in one program: each program of its own would compile the shared code again and link everything.
#![allow(clippy::unwrap_used, reason = "in a test a failed unwrap is the failure")]

mod archive;
mod batch;
mod bench_store;
mod bombs;
mod claim_refs;
mod clones;
mod convergence;
mod damage;
mod hub_copy;
mod journal;
mod memory_disk;
mod pack;
mod read_back;
mod ref_sync;
mod refused_refs;
mod repair;
mod replica;
mod state_cache;
mod sync;
mod tags;
mod users_git;

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
