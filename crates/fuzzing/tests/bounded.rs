//! The fuzzer's targets on stable, with seeded mutations of real inputs. `BD_FUZZ_CASES` sets how many per target.

use beads_fuzzing::{TARGETS, Target, mutate};
use beads_sim::Dice;

const CASES: u64 = 1_500;

/// No input here is larger than a megabyte, so nothing needs a multiple of this.
const MAX_MEMORY_KB: u64 = 768 * 1024;

fn cases() -> u64 {
    std::env::var("BD_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

fn bombard(name: &str) {
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

/// What this process had at most; known on Linux.
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn canonical_files() {
    bombard("canonical");
}

#[test]
fn journals() {
    bombard("journal");
}

#[test]
fn socket_frames() {
    bombard("frame");
}

#[test]
fn tool_inputs() {
    bombard("tool");
}

#[test]
fn mcp_lines() {
    bombard("mcp");
}

#[test]
fn import_lines() {
    bombard("import");
}

#[test]
fn ids_and_other_short_texts() {
    bombard("id");
}

#[test]
fn settings() {
    bombard("config");
}
