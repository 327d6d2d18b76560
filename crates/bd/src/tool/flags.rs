//! The command line of a tool.

use std::ffi::OsString;

use beads_engine::failure::Failure;
use serde_json::json;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Information to print instead of running the tool.
    pub about: Option<About>,
    /// Whether to apply the change. `--dry-run` overrides `--apply`, in any order.
    pub apply: bool,
    pub verbose: bool,
    pub trace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Help,
    Version,
    InputSchema,
    OutputSchema,
    BatchSchema,
}

impl Flags {
    pub fn parse(arguments: &[OsString]) -> Result<Self, Failure> {
        let mut flags = Self::default();
        let mut dry_run = false;
        for argument in arguments.iter().map(|argument| argument.to_string_lossy()) {
            match argument.as_ref() {
                "--help" | "-h" => flags.about = Some(About::Help),
                "--version" | "-V" => flags.about = Some(About::Version),
                "--schema" | "--schema=input" => flags.about = Some(About::InputSchema),
                "--schema=output" => flags.about = Some(About::OutputSchema),
                "--schema=batch" => flags.about = Some(About::BatchSchema),
                "--apply" => flags.apply = true,
                "--dry-run" => dry_run = true,
                "--verbose" => flags.verbose = true,
                "--trace" => flags.trace = true,
                other => {
                    let name = other.split('=').next().unwrap_or(other);
                    let message =
                        format!("unknown flag {other:?}; --help lists the flags, and input goes to stdin");
                    return Err(Failure::invalid(message).with(json!({"field": name})));
                }
            }
        }
        flags.apply &= !dry_run;
        Ok(flags)
    }
}
