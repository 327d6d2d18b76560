//! Runs `cargo test` on this workspace.

use std::process::{Command, ExitStatus};

use crate::arguments::Result;

#[derive(Debug, Clone, Default)]
pub struct Tests<'a> {
    pub release: bool,
    pub features: &'a str,
    /// Names of test binaries.
    pub binaries: &'a [&'a str],
    /// What comes behind `--`.
    pub filters: &'a [&'a str],
    pub environment: &'a [(&'a str, String)],
}

impl Tests<'_> {
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

    /// A failing test is an error.
    pub fn pass(&self) -> Result<()> {
        let status = self.run()?;
        if status.success() { Ok(()) } else { Err(format!("{:?}: {status}", self.filters).into()) }
    }
}
