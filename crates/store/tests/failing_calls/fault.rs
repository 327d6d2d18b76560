//! The faults in a child process, and the preloaded library that causes them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A call that changes something fails, finds the disk full, writes half, or is replaced by a kill of the
/// process; and ("look") a call that reads fails.
pub const HOWS: [&str; 5] = ["io", "space", "half", "kill", "look"];

impl Fault {
    /// Returns whether it makes a difference that the calls after it fail too.
    pub fn may_last(how: &str) -> bool {
        how == "io" || how == "space"
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub how: &'static str,
    /// The number of the call, from 1. With 0 the calls are only counted.
    pub at: u64,
    pub lasting: bool,
}

impl Fault {
    /// Installs the fault between a child and its files below a directory.
    pub fn arm(self, child: &mut Command, below: &Path, report: &Path) {
        child.env("LD_PRELOAD", library()).env("FAILING_BELOW", below).env("FAILING_REPORT", report);
        child.env("FAILING_HOW", self.how).env("FAILING_AT", self.at.to_string());
        if self.lasting {
            child.env("FAILING_LASTING", "1");
        }
    }
}

/// Compiles the library once, with the compiler that also built libgit2.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failing_calls/preload.c");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (fresh, library) =
            (directory.join(format!("failing-{}.so", std::process::id())), directory.join("failing.so"));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let built = Command::new(&compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o"])
            .args([&fresh, &source])
            .arg("-ldl")
            .status();
        assert!(built.as_ref().is_ok_and(std::process::ExitStatus::success), "{compiler}: {built:?}");
        // Shared by all runs. The rename keeps it complete for concurrent runs.
        std::fs::rename(fresh, &library).unwrap();
        library
    })
}
