//! The short way of a command: a running daemon gets the words as they stand and reads them itself. Setting up a parser in
//! a process that has just begun costs more than all the rest of a command; the daemon has done it before. What the
//! daemon cannot read or must not (it has neither our standard input nor our directory) comes back and is read here, so
//! that nothing depends on this way but time.

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
use super::parse::{parse_verb_again, verb_of};
use super::{Action, Cli};
use crate::moment;

/// Verbs that ask nothing of the process that they were typed into, but with some of their options.
const VERBS: [&str; 35] = [
    "create",
    "new",
    "update",
    "show",
    "list",
    "search",
    "ready",
    "blocked",
    "claim",
    "renew",
    "unclaim",
    "reclaim",
    "close",
    "cancel",
    "handover",
    "reopen",
    "delete",
    "restore",
    "deleted",
    "note",
    "comment",
    "comments",
    "remember",
    "recall",
    "label",
    "dep",
    "log",
    "blame",
    "children",
    "epic",
    "count",
    "stale",
    "status",
    "stats",
    "heartbeat",
];

/// A daemon that did not take the words.
#[derive(Debug, Default)]
pub struct Unanswered {
    /// Under this id it may have done what was asked before it went away.
    pub request_id: Option<String>,
}

/// Asks a running daemon to read the command line and answer it.
pub fn send(arguments: &[OsString]) -> Result<Reply, Unanswered> {
    let (place, request) = prepare(arguments).ok_or_else(Unanswered::default)?;
    let patience = Globals::default().access().lock_timeout;
    match exchange(&place, &SocketPath::of(&place), &request, patience) {
        Exchange::Reply(reply) => match &reply.error {
            Some(failure) if refuses(failure) => Err(Unanswered::default()),
            _ => Ok(rescued::noted(&place, *reply)),
        },
        Exchange::Nobody | Exchange::Foreign => Err(Unanswered::default()),
        // Asking again would only double the wait.
        Exchange::Silent => {
            let wants_json = arguments.iter().any(|word| word == "--json");
            let format = if wants_json { Format::Json } else { Format::Text };
            Ok(render::failure_reply(client::no_answer(&place, patience), format))
        }
        Exchange::Lost => Err(Unanswered { request_id: request.request_id }),
    }
}

/// The request of somebody who says nothing but these words.
fn prepare(arguments: &[OsString]) -> Option<(beads_engine::place::Place, Request)> {
    verb_of(arguments).filter(|verb| VERBS.contains(verb))?;
    if depends_on_zone(arguments) {
        return None;
    }
    let words =
        arguments.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    // Somebody who says how long to wait must not wait longer for this short way.
    if arguments.iter().any(|word| word.as_encoded_bytes().starts_with(b"--lock-timeout")) {
        return None;
    }
    let globals = Globals::default();
    if globals.access().no_daemon {
        return None;
    }
    let place = globals.place().ok().filter(beads_engine::place::Place::exists)?;
    let mut request = globals.request(&place, Call::Words(words)).ok()?;
    request.request_id = client::random_id();
    Some((place, request))
}

/// Whether a word, or the value of an option, names a time in the caller's time zone, which may not be the daemon's.
fn depends_on_zone(words: &[OsString]) -> bool {
    words.iter().filter_map(|word| word.to_str()).any(|word| {
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        // Almost no word is a time, and this is on the way of every command.
        value.starts_with(|first: char| first.is_ascii_digit()) && moment::is_local(value)
    })
}

/// Whether the daemon sent the words back: it must not read them, does not know how (an older one), or makes way.
fn refuses(failure: &Failure) -> bool {
    matches!(failure.code, Code::NotRead | Code::InvalidRequest | Code::DaemonOlder)
}

/// The daemon's side: turns words into what they ask for. Everything that goes wrong is left to the sender, who has the
/// better words for it.
pub fn read(mut request: Request) -> Result<Request, Failure> {
    let Call::Words(words) = &request.call else { return Ok(request) };
    let back = || Failure::new(Code::NotRead, "this has to be read where the command was given");
    let words: Vec<OsString> =
        [OsString::from("bd")].into_iter().chain(words.iter().map(OsString::from)).collect();
    verb_of(&words).filter(|verb| VERBS.contains(verb)).ok_or_else(back)?;
    if depends_on_zone(&words) {
        return Err(back());
    }
    let Some(Cli { globals, verb }) =
        parse_verb_again(&words).filter(|cli| cli.globals.leave_the_store_open())
    else {
        return Err(back());
    };
    request.output.ids_only = verb.wants_ids_only();
    globals.correct(&mut request);
    if let Some(author) = verb.author() {
        request.actor = author.clone();
    }
    request.call = match verb.action(&globals, Input::OutOfReach) {
        // Somebody who waits asks again with the time that is left.
        Ok(Action::Call(call)) if !matches!(call, Call::Wait { .. }) => call,
        // Least of all what would act here, and might ask this very daemon.
        _ => return Err(back()),
    };
    me::replace(&mut request.call, &request.actor);
    Ok(request)
}
