use beads_engine::request::Reply;
use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Globals, answered};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd completions bash > ~/.local/share/bash-completion/completions/bd")]
pub struct Args {
    shell: Shell,
}

impl Args {
    pub fn run(self, _: &Globals) -> Reply {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "bd", &mut script);
        answered(String::from_utf8_lossy(&script).into_owned())
    }
}
