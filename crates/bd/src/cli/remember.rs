use beads_core::{MemoryKey, Text};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::input::Input;

/// Remember something for later sessions
///
/// A memory is a bead of type `memory`: it is synced to every clone, is never ready, and is only listed on
/// request. Read it with `bd recall`. If several memories have the same key, the newest is shown; all are
/// kept.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd remember \"the parser tests need LANG=C\"\n  bd remember --key release \"tag first, then publish\""
)]
pub struct Args {
    /// Text; - for standard input, @/absolute/path for a file
    #[arg(required = true, value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[arg(hide = true)]
    more: Vec<String>,
    /// Key to recall it by [default: made from the first words]
    #[arg(long, short = 'k', value_name = "KEY")]
    key: Option<MemoryKey>,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let text: Text = input.text(&[vec![self.text], self.more].concat().join(" "))?;
        let key = self.key.map_or_else(|| MemoryKey::from_text(text.as_str()), Ok)?;
        Ok(Call::one(key.remember(text)?))
    }
}
