//! `bd`: see [`beads::cli`].
#![cfg_attr(not(test), no_main)]

/// Called by the C library; what the standard library would have done first is done by [`beads::begin`].
// SAFETY: the one `main` of the program, with the type that the C library expects.
#[cfg(not(test))]
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
extern "C" fn main(_count: std::ffi::c_int, _words: *const *const std::ffi::c_char) -> std::ffi::c_int {
    beads::begin(|| {
        beads_core::planted::plant_named_by(|| std::env::var("BD_PLANTED").unwrap_or_default());
        beads::cli::run(std::env::args_os())
    })
}
