//! Forwards the command line to a running daemon, unparsed. Building a parser in a new process costs more
//! than the rest of a command; the daemon keeps its parsers. The daemon rejects command lines that it cannot
//! parse or that need this process (its standard input, files or directory), and they are then parsed here.
//! Forwarding is only an optimisation.

use std::ffi::OsString;

use beads_engine::client;
use beads_engine::conversation::{Exchange, exchange};
use beads_engine::daemon::SocketPath;
use beads_engine::failure::{Code, Failure};
use beads_engine::render;
use beads_engine::request::{Call, Format, Reply, Request};
use beads_engine::rescued;

use super::globals::Globals;
use super::input::Input;
use super::me;
use super::parse::{parse_verb_cached, verb_of};
use super::{Action, Cli};
use crate::moment;
use crate::operations::TABLE;

/// The command line was not forwarded, or the reply was lost.
#[derive(Debug, Default)]
pub struct NotForwarded {
    /// The id under which the daemon may have run the command before it disconnected.
    pub request_id: Option<String>,
}

/// Asks a running daemon to parse and run the command line.
pub fn send(arguments: &[OsString]) -> Result<Reply, NotForwarded> {
    let (place, request) = prepare(arguments).ok_or_else(NotForwarded::default)?;
    let timeout = Globals::default().access().lock_timeout;
    match exchange(&place, &SocketPath::of(&place), &request, timeout) {
        Exchange::Reply(reply) => match &reply.error {
            Some(failure) if is_rejection(failure) => Err(NotForwarded::default()),
            _ => Ok(rescued::with_notes(&place, *reply)),
        },
        Exchange::NotListening | Exchange::OtherStore => Err(NotForwarded::default()),
        // Asking again would double the wait.
        Exchange::TimedOut => {
            let wants_json = arguments.iter().any(|word| word == "--json");
            let format = if wants_json { Format::Json } else { Format::Text };
            Ok(render::failure_reply(client::no_answer(&place, timeout), format))
        }
        Exchange::Disconnected => Err(NotForwarded { request_id: request.request_id }),
    }
}

/// Builds the request that forwards a command line, or returns `None` if it must be parsed here.
fn prepare(arguments: &[OsString]) -> Option<(beads_engine::place::Place, Request)> {
    verb_of(arguments).filter(|verb| is_forwarded(verb))?;
    if depends_on_zone(arguments) {
        return None;
    }
    let command_line =
        arguments.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    // The timeout is an option that has not been parsed yet; forwarding could exceed it.
    if arguments.iter().any(|word| word.as_encoded_bytes().starts_with(b"--lock-timeout")) {
        return None;
    }
    let globals = Globals::default();
    if globals.access().no_daemon {
        return None;
    }
    let place = globals.place().ok().filter(beads_engine::place::Place::exists)?;
    let mut request = globals.request(&place, Call::CommandLine(command_line)).ok()?;
    request.request_id = client::random_id();
    Some((place, request))
}

/// Returns whether the daemon may parse the command lines of a verb.
fn is_forwarded(verb: &str) -> bool {
    TABLE.iter().any(|row| row.forwarded && row.is_called(verb))
}

/// Returns whether an argument is a time in the caller's time zone, which may differ from the daemon's.
fn depends_on_zone(arguments: &[OsString]) -> bool {
    arguments.iter().filter_map(|word| word.to_str()).any(|word| {
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        // Checked first because it is cheap: every command runs this, and few arguments are times.
        value.starts_with(|first: char| first.is_ascii_digit()) && moment::is_local(value)
    })
}

/// Returns whether the daemon rejected the command line: it must not parse it, is too old to, or is shutting
/// down.
fn is_rejection(failure: &Failure) -> bool {
    matches!(failure.code, Code::NotRead | Code::InvalidRequest | Code::DaemonOlder)
}

/// Parses a forwarded command line, on the daemon's side. Rejects everything that fails to parse, because the
/// sender can report the error better.
pub fn parse_forwarded(mut request: Request) -> Result<Request, Failure> {
    let Call::CommandLine(command_line) = &request.call else { return Ok(request) };
    let rejection = || Failure::new(Code::NotRead, "this command line must be parsed by the calling process");
    let arguments: Vec<OsString> =
        [OsString::from("bd")].into_iter().chain(command_line.iter().map(OsString::from)).collect();
    verb_of(&arguments).filter(|verb| is_forwarded(verb)).ok_or_else(rejection)?;
    if depends_on_zone(&arguments) {
        return Err(rejection());
    }
    let Some(Cli { globals, verb }) =
        parse_verb_cached(&arguments).filter(|cli| cli.globals.use_default_store())
    else {
        return Err(rejection());
    };
    request.output.ids_only = verb.wants_ids_only();
    request.output.fields = verb.fields().to_vec();
    globals.apply_to(&mut request);
    if let Some(author) = verb.author() {
        request.actor = author.clone();
    }
    request.call = match verb.action(&globals, Input::Unavailable) {
        // A waiting client asks again with the remaining time, so it must run the loop itself.
        Ok(Action::Call(call)) if !matches!(call, Call::Wait { .. }) => call,
        // A local command must not run in the daemon; it might even call the daemon.
        _ => return Err(rejection()),
    };
    me::replace(&mut request.call, &request.actor);
    Ok(request)
}
