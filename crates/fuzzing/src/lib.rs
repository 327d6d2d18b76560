//! Never shipped. One body per kind of bytes that come from outside: it must not panic, must stay small, and what can be
//! decoded must encode and decode again to the same. `fuzz/` hands these to the fuzzer; `tests/bounded.rs` to a seeded
//! mutator on stable.

#![allow(clippy::expect_used, clippy::missing_panics_doc, reason = "a panic is what a fuzzer looks for")]

mod mutate;
mod sample;
pub mod target;

pub use mutate::mutate;

/// A kind of input.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Good inputs, to begin with.
    pub corpus: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: [Target; 8] = [
    Target { name: "canonical", run: target::canonical::run, corpus: target::canonical::corpus },
    Target { name: "journal", run: target::journal::run, corpus: target::journal::corpus },
    Target { name: "frame", run: target::frame::run, corpus: target::frame::corpus },
    Target { name: "tool", run: target::tool::run, corpus: target::tool::corpus },
    Target { name: "mcp", run: target::mcp::run, corpus: target::mcp::corpus },
    Target { name: "import", run: target::import::run, corpus: target::import::corpus },
    Target { name: "id", run: target::id::run, corpus: target::id::corpus },
    Target { name: "config", run: target::config::run, corpus: target::config::corpus },
];
