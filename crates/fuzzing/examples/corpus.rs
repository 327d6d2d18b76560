//! Writes valid inputs for every target, for the fuzzer to start from:
//! `cargo run -p beads-fuzzing --example corpus -- fuzz/corpus`.

use beads_fuzzing::TARGETS;

fn main() -> std::io::Result<()> {
    let root = std::env::args_os().nth(1).unwrap_or_else(|| "fuzz/corpus".into());
    for target in TARGETS {
        let directory = std::path::Path::new(&root).join(target.name);
        std::fs::create_dir_all(&directory)?;
        for (number, input) in (target.corpus)().into_iter().enumerate() {
            std::fs::write(directory.join(format!("good-{number}")), input)?;
        }
    }
    Ok(())
}
