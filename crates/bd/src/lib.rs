//! The library behind the binaries `bd` and `bb`.

pub mod agent;
pub mod escape;
