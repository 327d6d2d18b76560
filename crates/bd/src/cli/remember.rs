use beads_core::{MemoryKey, Text};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::input::Input;

/// Remember something for later sessions
///
/// A memory is a bead of the type `memory`: it is synced to every clone, never ready, and only listed when asked for. `bd recall`
/// reads it. Of memories with the same key the newest is shown; all are kept.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd remember \"the parser tests need LANG=C\"\n  bd remember --key release \"tag first, then publish\""
)]
pub struct Args {
    /// The text; - for standard input, @/absolute/path for a file
    #[arg(required = true, value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[arg(hide = true)]
    more: Vec<String>,
    /// The name to recall it by; made of the first words when absent
    #[arg(long, short = 'k', value_name = "KEY")]
    key: Option<MemoryKey>,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let text: Text = input.text(&[vec![self.text], self.more].concat().join(" "))?;
        let key = self.key.map_or_else(|| MemoryKey::of_text(text.as_str()), Ok)?;
        Ok(Call::one(key.remember(text)?))
    }
}
