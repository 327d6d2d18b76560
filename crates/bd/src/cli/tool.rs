use std::ffi::OsString;
use std::path::PathBuf;

use beads_engine::failure::{Failure, exit};
use beads_engine::render;
use beads_engine::request::{Format, Reply};
use clap::Subcommand;
use serde_json::json;

use super::globals::Globals;
use super::stdout_reply;
use crate::tool::install::{Install, Installed, LinkAction};
use crate::tool::{runner, table};

/// Run, list or install the JSON tools
///
/// Without arguments, lists all tools. A tool reads one JSON object from standard input, prints one, and
/// changes nothing without --apply. See `bd tool NAME --help` for each tool.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  echo '{\"title\":\"Fix the login loop\"}' | bd tool beads.create --apply\n  bd tool beads.create --schema\n  bd tool install --dir ~/.local/bin --all"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Link tools into a directory, so that they can be run by name
    #[command(after_help = "Example:\n  bd tool install --dir ~/.local/bin --group agent --dry-run")]
    Install(InstallArgs),
    #[command(external_subcommand)]
    Run(Vec<OsString>),
}

#[derive(Debug, clap::Args)]
struct InstallArgs {
    /// Directory for the links
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    dir: Option<PathBuf>,
    /// Prefix of every name, such as my-
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    /// Only these tools [default: beads]
    #[arg(long, value_parser = ["beads", "agent"])]
    group: Option<String>,
    /// Tools of every group
    #[arg(long, conflicts_with = "group")]
    all: bool,
    /// List the tools without linking them
    #[arg(long)]
    list: bool,
    /// Show what would be linked where without linking it
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        match self.verb {
            None => Ok(stdout_reply(runner::list())),
            Some(Verb::Install(args)) => args.run(globals),
            Some(Verb::Run(arguments)) => Ok(run(&arguments, globals)),
        }
    }
}

/// Runs a tool, which prints its own output.
fn run(arguments: &[OsString], globals: &Globals) -> Reply {
    let (name, arguments) = arguments
        .split_first()
        .map_or((String::new(), arguments), |(name, rest)| (name.to_string_lossy().into_owned(), rest));
    Reply { exit: execute(&name, arguments, globals), ..stdout_reply(String::new()) }
}

/// Runs the tool that the link to this program is named after.
pub fn run_as(name: &str, arguments: &[OsString]) -> u8 {
    execute(name, arguments, &Globals::default())
}

fn execute(name: &str, arguments: &[OsString], globals: &Globals) -> u8 {
    runner::execute(
        name,
        arguments,
        &|apply, progress, trace| globals.tool_context(apply, progress, trace),
        &mut std::io::stdin().lock(),
        &mut std::io::stdout().lock(),
    )
}

impl InstallArgs {
    fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let group = if self.all { None } else { Some(self.group.unwrap_or_else(|| "beads".to_owned())) };
        let (list, dry_run) = (self.list, self.dry_run);
        let install = Install { dir: self.dir.unwrap_or_default(), prefix: self.prefix, group, dry_run };
        if list {
            return Ok(stdout_reply(self::list(&install, globals.format())));
        }
        let installed = install.run()?;
        let refused = installed.links.iter().any(|link| link.action == LinkAction::Refused);
        let stdout = match globals.format() {
            Format::Json => render::json(&installed),
            _ if globals.output()?.quiet => String::new(),
            _ => text(&installed),
        };
        Ok(Reply { exit: if refused { exit::DOMAIN } else { exit::OK }, ..stdout_reply(stdout) })
    }
}

fn list(install: &Install, format: Format) -> String {
    if format == Format::Json {
        let row = |tool: &crate::tool::Tool| json!({"name": tool.name, "summary": tool.summary()});
        return render::json(&install.tools().map(row).collect::<Vec<_>>());
    }
    let width = table().iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    install.tools().map(|tool| format!("{:<width$}  {}\n", tool.name, tool.summary())).collect()
}

fn text(installed: &Installed) -> String {
    let would = if installed.dry_run { "would be " } else { "" };
    let line = |link: &crate::tool::install::Link| {
        format!("{} {would}{}\n", link.path.display(), link.action.as_str())
    };
    installed.links.iter().map(line).collect()
}
