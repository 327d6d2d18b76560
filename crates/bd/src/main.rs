//! `bd`: see [`beads::cli`].
#![cfg_attr(not(test), no_main)]

/// Called by the C runtime. [`beads::run_main`] replaces the startup code of the standard library.
// SAFETY: the only `main` of the program, with the signature that the C runtime expects.
#[cfg(not(test))]
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
extern "C" fn main(_count: std::ffi::c_int, _arguments: *const *const std::ffi::c_char) -> std::ffi::c_int {
    beads::run_main(|| {
        beads_core::planted::plant_named_by(|| std::env::var("BD_PLANTED").unwrap_or_default());
        beads::cli::run(std::env::args_os())
    })
}
