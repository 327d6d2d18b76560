//! Flags that every verb takes.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use beads_core::{Actor, Line};
use clap::Args;

use crate::client::Access;
use crate::config::parse_duration;
use crate::daemon::VERSION;
use crate::failure::Failure;
use crate::place::{Place, Wanted};
use crate::request::{Call, Format, Output, Request};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Act as if started in this directory
    #[arg(long = "repo", short = 'C', value_name = "DIR", global = true)]
    repo: Option<PathBuf>,
    /// A private store, named by the path of a database file in its directory
    #[arg(long, value_name = "PATH", global = true)]
    db: Option<PathBuf>,
    /// Who is acting [default: $BD_ACTOR, else user@host]
    #[arg(long, value_name = "NAME", global = true)]
    actor: Option<Actor>,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing but errors and what was asked for
    #[arg(long, short = 'q', global = true)]
    quiet: bool,
    /// Say more: which store answered, at which position, in what time
    #[arg(long, short = 'v', global = true)]
    verbose: bool,
    /// Do the work in this process instead of starting a daemon [env: BD_NO_DAEMON=1]
    #[arg(long, global = true)]
    no_daemon: bool,
    /// How long to wait for the store without a daemon, such as 5s
    #[arg(long, value_name = "TIME", global = true, default_value = "30s", value_parser = duration)]
    lock_timeout: Duration,
    /// Repeat a mutation safely: within 10 minutes the same id is applied only once
    #[arg(long, value_name = "ID", global = true)]
    request_id: Option<String>,
}

pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|failure| failure.message)
}

/// An empty variable is one that is not set: as a path it would name the directory we are in.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

impl Globals {
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }

    pub fn output(&self) -> Output {
        let stdout = std::io::stdout();
        let terminal = stdout.is_terminal();
        let no_color = variable("NO_COLOR").is_some();
        let width = || {
            rustix::termios::tcgetwinsize(&stdout)
                .ok()
                .map(|size| usize::from(size.ws_col))
                .filter(|w| *w > 0)
        };
        Output {
            format: self.format(),
            color: terminal && !no_color,
            width: terminal.then(|| width().unwrap_or(80)),
            quiet: self.quiet,
            verbose: self.verbose,
        }
    }

    pub fn place(&self) -> Result<Place, Failure> {
        let here = || {
            std::env::current_dir()
                .map_err(|error| Failure::new("io_error", format!("no current directory: {error}")))
        };
        let start = match &self.repo {
            Some(directory) => directory.clone(),
            None => here()?,
        };
        let db = self.db.clone().or_else(|| variable("BEADS_DB").map(PathBuf::from));
        let dir = variable("BEADS_DIR").map(PathBuf::from).filter(|_| db.is_none());
        Place::find(&Wanted { db, dir, start })
    }

    pub fn access(&self) -> Access {
        let off = |name: &str| variable(name).is_some_and(|value| value != "0");
        Access {
            no_daemon: self.no_daemon || off("BD_NO_DAEMON") || off("BEADS_NO_DAEMON"),
            lock_timeout: self.lock_timeout,
        }
    }

    pub fn request(&self, place: &Place, call: Call) -> Result<Request, Failure> {
        Ok(Request {
            client: VERSION.to_owned(),
            actor: self.actor()?,
            // A branch whose name cannot be shown on a line is left out rather than refused: it is informational.
            branch: place.branch.parse::<Line>().unwrap_or_default(),
            request_id: self.request_id.clone(),
            call,
            output: self.output(),
        })
    }

    fn actor(&self) -> Result<Actor, Failure> {
        if let Some(actor) = &self.actor {
            return Ok(actor.clone());
        }
        if let Some(actor) = variable("BD_ACTOR") {
            let actor = actor.into_string().map_err(|_| Failure::invalid("BD_ACTOR is not valid UTF-8"))?;
            return Ok(actor.parse()?);
        }
        let user = ["USER", "LOGNAME"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
        let user = user.unwrap_or_else(|| format!("uid{}", rustix::process::getuid().as_raw()));
        let uname = rustix::system::uname();
        let host = uname.nodename().to_string_lossy();
        Ok(format!("{user}@{host}").parse::<Actor>()?)
    }
}
