use std::path::PathBuf;
use std::time::Duration;

use beads_core::Timestamp;
use beads_engine::client;
use beads_engine::daemon::{self, RunOptions, SocketPath};
use beads_engine::failure::Failure;
use beads_engine::log;
use beads_engine::place::{Kind, Place};
use beads_engine::render::{self, Answer, DaemonStatus};
use beads_engine::request::{Call, Format, Reply};
use beads_store::StoreLock;
use clap::Subcommand;

use super::globals::Globals;
use super::{answered, text_reply};

/// How long a daemon may take to save and leave.
const PATIENCE: Duration = Duration::from_secs(30);

/// Look at, stop or run the process that holds the store, or read its log
///
/// Nobody has to: the first command starts it, and it leaves when it is not needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd daemon status --json")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Tell whether one is running
    #[command(after_help = "Example:\n  bd daemon status --json")]
    Status,
    /// Let it save and leave
    #[command(after_help = "Example:\n  bd daemon stop")]
    Stop,
    /// Show the daemon's log
    #[command(after_help = "Example:\n  bd daemon log --since 2h")]
    Log {
        /// Only what was written since: RFC 3339, a local date-time, a date, or an age such as 2h
        #[arg(long, value_name = "TIME", value_parser = super::filter::time)]
        since: Option<Timestamp>,
    },
    /// Be the daemon, in the foreground
    #[command(after_help = "Example:\n  bd daemon run")]
    Run {
        /// Leave the terminal's session and report to the starter
        #[arg(long, hide = true)]
        detach: bool,
        /// The git directory of the store
        #[arg(long, hide = true)]
        store: Option<PathBuf>,
        /// The store is a private one
        #[arg(long, hide = true)]
        private: bool,
        /// How long to wait for the store, in milliseconds
        #[arg(long, hide = true)]
        patience: Option<u64>,
    },
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        match self.verb {
            Verb::Status => status(globals, &globals.place()?),
            Verb::Stop => {
                let place = globals.place()?;
                let request = globals.request(&place, Call::DaemonStop)?;
                let socket = SocketPath::of(&place);
                let before = socket.birth();
                let mut stopped = false;
                if let Some(reply) = client::ask_running(&place, &request, PATIENCE)? {
                    if reply.error.is_some() || reply.exit != 0 {
                        return Ok(reply);
                    }
                    // It has left when it lets go of the store, or when a client that needs one has started the next.
                    let is_another = || socket.birth().is_some_and(|now| Some(now) != before);
                    stopped = StoreLock::take_unless(&place.lock_path(), PATIENCE, is_another)?.is_some();
                }
                if stopped && globals.format() == Format::Text {
                    return Ok(answered("stopped\n".to_owned()));
                }
                status(globals, &place)
            }
            Verb::Log { since } => {
                let text = log::read(&globals.place()?.store_dir(), since)?;
                Ok(text_reply(&text, globals))
            }
            Verb::Run { detach, store, private, patience } => {
                let kind = if private { Kind::Private } else { Kind::Repository };
                let place = match store {
                    Some(git_dir) => {
                        Place { git_dir, kind, branch: String::new(), inside: None, worktree: None }
                    }
                    None => globals.place()?,
                };
                let patience = patience.map(Duration::from_millis);
                daemon::run(&RunOptions { place, detach, patience, read_command: super::read })?;
                Ok(answered(String::new()))
            }
        }
    }
}

/// Tells of the daemon that runs now, and starts none.
fn status(globals: &Globals, place: &Place) -> Result<Reply, Failure> {
    let request = globals.request(place, Call::DaemonStatus)?;
    let absent = || render::reply(Ok(Answer::Daemon(not_running(place))), &request.output, 0);
    let patience = globals.access().lock_timeout;
    Ok(client::ask_running(place, &request, patience)?.unwrap_or_else(absent))
}

fn not_running(place: &Place) -> DaemonStatus {
    DaemonStatus {
        running: false,
        pid: None,
        socket: SocketPath::of(place).path().display().to_string(),
        version: None,
        uptime: None,
        connections: None,
    }
}
