use std::path::PathBuf;

use beads_engine::daemon::VERSION;
use beads_engine::escape::escape;
use beads_engine::failure::{Code, Failure};
use beads_engine::render::{self, UpgradeAnswer};
use beads_engine::request::{Format, Reply};

use super::globals::Globals;
use super::stdout_reply;
use crate::installation::{Installation, copies_on_path};

/// Show how this bd was installed, and the command that upgrades it
///
/// bd does not replace itself and does not contact a server: the program that installed it upgrades it. Other
/// copies of bd on the search path are listed, because they may hide the new one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd upgrade --check")]
pub struct Args {
    /// Explain; nothing is changed
    #[arg(long, required = true)]
    check: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        debug_assert!(self.check, "clap requires the option");
        let found = std::env::current_exe();
        let executable = found.map_err(|error| {
            Failure::new(Code::IoError, format!("cannot find the file of this program: {error}"))
        })?;
        let installation = Installation::of(&executable);
        let answer = UpgradeAnswer {
            version: VERSION,
            installed_by: installation.name(),
            upgrade_with: installation.upgrade_command(),
            other_copies: copies_on_path(&executable),
            executable,
        };
        Ok(stdout_reply(match globals.format() {
            Format::Json => render::json(&answer),
            _ => text(&answer),
        }))
    }
}

fn text(answer: &UpgradeAnswer) -> String {
    let path = |path: &PathBuf| escape(&path.display().to_string()).into_owned();
    let mut out = format!(
        "bd {}, {}\ninstalled by  {}\nupgrade with  {}\n",
        answer.version,
        path(&answer.executable),
        answer.installed_by,
        answer.upgrade_with
    );
    for copy in &answer.other_copies {
        out.push_str(&format!("also on the search path: {}\n", path(copy)));
    }
    out.push_str("then          bd daemon stop, once per store; the next command starts the new daemon\n");
    out
}
