//! Runs `cargo test` on this workspace.

use std::process::{Command, ExitStatus};

use crate::arguments::Result;

/// A `cargo test` invocation.
#[derive(Debug, Clone, Default)]
pub struct Tests<'a> {
    /// Whether to build with `--release`.
    pub release: bool,
    /// Features to enable.
    pub features: &'a str,
    /// The test binaries to run.
    pub binaries: &'a [&'a str],
    /// The arguments after `--`.
    pub filters: &'a [&'a str],
    /// Environment variables to set.
    pub environment: &'a [(&'a str, String)],
}

impl Tests<'_> {
    /// Runs the tests and returns the exit status.
    pub fn run(&self) -> Result<ExitStatus> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["test", "--quiet", "--workspace"]);
        if self.release {
            command.arg("--release");
        }
        if !self.features.is_empty() {
            command.args(["--features", self.features]);
        }
        for binary in self.binaries {
            command.args(["--test", binary]);
        }
        command.arg("--").args(self.filters);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command.status()?)
    }

    /// Runs the tests. Returns an error if one fails.
    pub fn pass(&self) -> Result<()> {
        let status = self.run()?;
        if status.success() { Ok(()) } else { Err(format!("{:?}: {status}", self.filters).into()) }
    }
}
