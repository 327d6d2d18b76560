use beads_engine::request::{Call, Query};

/// Show memories
///
/// Without an argument, lists every key with an excerpt. With a key, shows its text. With other words, shows
/// the memories that contain all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd recall\n  bd recall release\n  bd recall parser tests")]
pub struct Args {
    /// Key, or words to search for
    #[arg(value_name = "KEY or QUERY", allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Args {
    pub fn call(self) -> Call {
        let asked = Some(self.words.join(" ")).filter(|asked| !asked.trim().is_empty());
        Call::query(Query::Memories { brief: asked.is_none(), asked })
    }
}
