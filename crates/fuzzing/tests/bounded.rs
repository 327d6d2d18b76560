//! Runs the fuzz targets on stable Rust, with seeded mutations of real inputs. `BD_FUZZ_CASES` sets the
//! number per target.

use beads_fuzzing::{TARGETS, Target, mutate};
use beads_sim::Dice;

const CASES: u64 = 1_500;

/// No input here exceeds a megabyte, so no target needs more than this.
const MAX_MEMORY_KB: u64 = 768 * 1024;

fn cases() -> u64 {
    std::env::var("BD_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

fn fuzz(name: &str) {
    let Target { run, corpus, .. } =
        TARGETS.into_iter().find(|target| target.name == name).expect("a target");
    let corpus = corpus();
    corpus.iter().for_each(|input| run(input));
    for case in 0..cases() {
        let input = mutate(&corpus, &mut Dice::new(case));
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("{name}, case {case}: {:?}", String::from_utf8_lossy(&input));
            std::panic::resume_unwind(panic);
        }
    }
    if let Some(peak) = peak_memory_kb() {
        assert!(peak < MAX_MEMORY_KB, "{name}: {peak} kB at the peak");
    }
}

/// Returns the peak memory of this process. Only known on Linux.
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn canonical_files() {
    fuzz("canonical");
}

#[test]
fn journals() {
    fuzz("journal");
}

#[test]
fn socket_frames() {
    fuzz("frame");
}

#[test]
fn deltas_of_a_hub() {
    fuzz("hub");
}

#[test]
fn tool_inputs() {
    fuzz("tool");
}

#[test]
fn mcp_lines() {
    fuzz("mcp");
}

#[test]
fn import_lines() {
    fuzz("import");
}

#[test]
fn ids_and_other_short_texts() {
    fuzz("id");
}

#[test]
fn settings() {
    fuzz("config");
}
