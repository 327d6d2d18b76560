//! Fuzz targets; never shipped. There is one per kind of untrusted input. A target must not panic and must
//! use little memory, and whatever can be decoded must encode and decode again to the same value. `fuzz/`
//! passes the targets to the fuzzer; `tests/bounded.rs` runs them with a seeded mutator on stable Rust.

#![allow(clippy::expect_used, clippy::missing_panics_doc, reason = "a panic is what a fuzzer looks for")]

mod mutate;
mod sample;
pub mod target;

pub use mutate::mutate;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target.
    pub name: &'static str,
    /// Processes one input. Panics if it finds a bug.
    pub run: fn(&[u8]),
    /// Returns valid inputs to start from.
    pub corpus: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target { name: "canonical", run: target::canonical::run, corpus: target::canonical::corpus },
    Target { name: "journal", run: target::journal::run, corpus: target::journal::corpus },
    Target { name: "frame", run: target::frame::run, corpus: target::frame::corpus },
    Target { name: "hub", run: target::hub::run, corpus: target::hub::corpus },
    Target { name: "tool", run: target::tool::run, corpus: target::tool::corpus },
    Target { name: "mcp", run: target::mcp::run, corpus: target::mcp::corpus },
    Target { name: "import", run: target::import::run, corpus: target::import::corpus },
    Target { name: "id", run: target::id::run, corpus: target::id::corpus },
    Target { name: "config", run: target::config::run, corpus: target::config::corpus },
];
