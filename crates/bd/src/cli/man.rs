use std::path::PathBuf;

use beads_engine::failure::Failure;
use beads_engine::request::Reply;
use clap::CommandFactory;

use super::globals::Globals;
use super::{Cli, text_reply};

/// Write manual pages
///
/// Writes bd.1 and a page for each verb and subcommand, such as bd-create.1. Existing pages are replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd man --dir ~/.local/share/man/man1")]
pub struct Args {
    /// Directory to write to; it is created if necessary
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let directory = globals.absolute(&self.dir)?;
        let written = std::fs::create_dir_all(&directory)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &directory));
        written.map_err(|error| Failure::io("write manual pages to", &directory, &error))?;
        Ok(text_reply(&format!("wrote manual pages to {}\n", directory.display()), globals))
    }
}
