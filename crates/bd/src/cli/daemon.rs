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
use super::{stdout_reply, text_reply};

/// How long a daemon may take to save and exit.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Show, stop or run the daemon, or read its log
///
/// You rarely need this: the first command starts the daemon, and it exits when it is idle.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd daemon status --json")]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show whether a daemon is running
    #[command(after_help = "Example:\n  bd daemon status --json")]
    Status,
    /// Stop the daemon after it has saved
    #[command(after_help = "Example:\n  bd daemon stop")]
    Stop,
    /// Show the daemon's log
    #[command(after_help = "Example:\n  bd daemon log --since 2h")]
    Log {
        /// Only entries since TIME: RFC 3339, a local date-time, a date, or an age such as 2h
        #[arg(long, value_name = "TIME", value_parser = super::filter::time)]
        since: Option<Timestamp>,
    },
    /// Run the daemon in the foreground
    #[command(after_help = "Example:\n  bd daemon run")]
    Run {
        /// Detach from the terminal and report to the parent process
        #[arg(long, hide = true)]
        detach: bool,
        /// Git directory of the store
        #[arg(long, hide = true)]
        store: Option<PathBuf>,
        /// Serve a private store
        #[arg(long, hide = true)]
        private: bool,
        /// How long to wait for the store lock, in milliseconds
        #[arg(long, hide = true)]
        patience: Option<u64>,
    },
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        match self.verb.unwrap_or(Verb::Status) {
            Verb::Status => status(globals, &globals.place()?),
            Verb::Stop => {
                let place = globals.place()?;
                let request = globals.request(&place, Call::DaemonStop)?;
                let socket = SocketPath::of(&place);
                let before = socket.file_identity();
                let mut stopped = false;
                if let Some(reply) = client::ask_running(&place, &request, STOP_TIMEOUT)? {
                    if reply.error.is_some() || reply.exit != 0 {
                        return Ok(reply);
                    }
                    // It has exited when the lock is free, or when a client has already started another
                    // daemon.
                    let is_another = || socket.file_identity().is_some_and(|now| Some(now) != before);
                    stopped = StoreLock::take_unless(&place.lock_path(), STOP_TIMEOUT, is_another)?.is_some();
                }
                if stopped && globals.format() == Format::Text {
                    return Ok(stdout_reply("stopped\n".to_owned()));
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
                daemon::run(&RunOptions { place, detach, patience, read_command: super::parse_forwarded })?;
                Ok(stdout_reply(String::new()))
            }
        }
    }
}

/// Reports the running daemon without starting one.
fn status(globals: &Globals, place: &Place) -> Result<Reply, Failure> {
    let request = globals.request(place, Call::DaemonStatus)?;
    let absent = || render::reply(Ok(Answer::Daemon(not_running(place))), &request.output, 0);
    let timeout = globals.access().lock_timeout;
    Ok(client::ask_running(place, &request, timeout)?.unwrap_or_else(absent))
}

fn not_running(place: &Place) -> DaemonStatus {
    DaemonStatus {
        running: false,
        pid: None,
        socket: SocketPath::of(place).path().display().to_string(),
        version: None,
        uptime: None,
        connections: None,
        sync: None,
        import: None,
    }
}
