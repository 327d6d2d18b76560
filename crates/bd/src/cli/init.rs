use beads_engine::request::Call;

/// Make the store, or find it as it is
///
/// Needed once in a new project at most: the first write makes the store too, and a clone finds it by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd init --prefix app")]
pub struct Args {
    /// What minted ids start with
    #[arg(long, short = 'p', value_name = "PREFIX")]
    prefix: Option<String>,
}

impl Args {
    pub fn call(self) -> Call {
        Call::Init { prefix: self.prefix }
    }
}
