#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beads_fuzzing::target::hub::run(bytes));
