use beads_engine::request::{Call, Query};

/// Read what was remembered
///
/// Without an argument, lists every key with the beginning of its text. With a key, shows its text. With other words, shows the
/// memories that mention all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd recall\n  bd recall release\n  bd recall parser tests")]
pub struct Args {
    #[arg(value_name = "KEY or QUERY", allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Args {
    pub fn call(self) -> Call {
        let asked = Some(self.words.join(" ")).filter(|asked| !asked.trim().is_empty());
        Call::query(Query::Memories { brief: asked.is_none(), asked })
    }
}
