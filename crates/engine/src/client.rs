//! Puts a request to whoever holds the store: the daemon, started if need be, or this very process.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use beads_core::canonical::hex;
use beads_store::{Holder, StoreLock, TakenOver};

use crate::conversation::{Exchange, exchange_until, other_socket};
use crate::daemon::{self, SocketPath};
use crate::deadline::Deadline;
use crate::failure::{Code, Failure};
use crate::hangup::Hangup;
use crate::not_writable::not_writable;
use crate::place::Place;
use crate::render::{self, UninstallAnswer};
use crate::request::{Call, Reply, Request};
use crate::request_files::{self, FileRequests};
use crate::service::Service;

/// How long a command looks for a daemon that keeps slipping away before it does the work itself.
const DAEMON_PATIENCE: Duration = Duration::from_secs(15);

/// A daemon that kept a request longer than this was serving it.
const SERVED: Duration = Duration::from_secs(1);

/// A daemon that was started so often, and could not be asked, cannot live here.
const MAX_STARTS: usize = 3;

/// Without a daemon, somebody who waits looks this often whether the journal has grown, and this often, in case a lease
/// ran out, whether what is waited for is there.
const LOOK_AT_JOURNAL: Duration = Duration::from_millis(50);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How to reach the store.
#[derive(Debug, Clone)]
pub struct Access {
    /// Do not start a daemon. One that is running still answers, because it holds the store.
    pub no_daemon: bool,
    pub lock_timeout: Duration,
    /// Nothing is asked after this: the process ends and need not clear away what it has in memory.
    pub is_last: bool,
    /// Lets another thread end the request.
    pub hangup: Option<Arc<Hangup>>,
}

impl Access {
    fn is_hung_up(&self) -> bool {
        self.hangup.as_ref().is_some_and(|hangup| hangup.is_hung_up())
    }
}

impl Default for Access {
    fn default() -> Self {
        Self { no_daemon: false, lock_timeout: Duration::from_secs(30), is_last: false, hangup: None }
    }
}

/// Asks, and always comes back with a reply.
pub fn ask(place: &Place, mut request: Request, access: &Access) -> Reply {
    let format = request.output.format;
    if !place.exists()
        && let Some(answered) = without_store(place, &request)
    {
        return answered.unwrap_or_else(|failure| render::failure_reply(failure, format));
    }
    if let Call::Repair { apply } = request.call {
        let repaired = repair(place, &request, apply, access);
        return repaired.unwrap_or_else(|failure| render::failure_reply(failure, format));
    }
    if request.call.mutates() && request.request_id.is_none() {
        request.request_id = random_id();
    }
    let give_up = Instant::now() + request.call.wait();
    let until = (give_up, Deadline::after(access.lock_timeout));
    let answered = if access.no_daemon { Ok(None) } else { through_daemon(place, &request, access, until) };
    let answered = match answered {
        Ok(Some(reply)) => Ok(reply),
        Ok(None) => here(place, &request, access, until),
        Err(failure) => Err(failure),
    };
    answered.unwrap_or_else(|failure| on_failure(place, &request, failure))
}

/// What is to be said about a private store that is not there; `None` when the request makes it.
fn without_store(place: &Place, request: &Request) -> Option<Result<Reply, Failure>> {
    let directory = place.git_dir.parent().unwrap_or(&place.git_dir).display().to_string();
    let may_make = place.is_made_by_writing() || matches!(request.call, Call::Init { private: true, .. });
    if request.call.creates_the_store() {
        let message = || {
            format!(
                "{directory} has no store and lies inside a git repository; without --db and BEADS_DIR the \
                 repository's store answers, and bd init --private makes one there"
            )
        };
        return (!may_make).then(|| Err(Failure::new(Code::NoStore, message())));
    }
    if matches!(request.call, Call::Query(_)) && place.has_directory() {
        return Some(nothing(place, request));
    }
    let message = format!("not in a git repository, and {directory} has no store");
    Some(Err(Failure::new(Code::NoStore, message)))
}

/// Answers a question about a store that has a directory and nothing in it, without making anything there.
fn nothing(place: &Place, request: &Request) -> Result<Reply, Failure> {
    let random = random_id().unwrap_or_default();
    let scratch = std::env::temp_dir().join(format!("bd-empty-{}", random.trim_start_matches('~')));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&scratch);
    made.map_err(|error| Failure::io("make", &scratch, &error))?;
    let answer = || {
        let empty = Place { git_dir: scratch.join("store.git"), ..place.clone() };
        let lock = StoreLock::take(&empty.lock_path(), Duration::ZERO)?;
        Ok(Service::open_as(&empty, place, lock)?.answer(request))
    };
    let answered = answer();
    let _ = std::fs::remove_dir_all(&scratch);
    answered
}

/// Works on a store that cannot be opened, so no daemon is started for it, and one that runs is asked to leave before
/// anything is moved from under it.
fn repair(place: &Place, request: &Request, apply: bool, access: &Access) -> Result<Reply, Failure> {
    if apply {
        let stop = Request { call: Call::DaemonStop, ..request.clone() };
        ask_running(place, &stop, access.lock_timeout)?;
    } else if let Some(reply) = ask_running(place, request, access.lock_timeout)? {
        return Ok(reply);
    }
    let taken = StoreLock::take(&place.lock_path(), access.lock_timeout);
    let _lock = taken.map_err(|error| match error {
        beads_store::Error::Busy { .. } => no_answer(place, access.lock_timeout),
        error => error.into(),
    })?;
    Ok(render::reply(crate::service::repair(place, apply), &request.output, 0))
}

/// Removes a store. A daemon that serves it is stopped first.
pub fn uninstall(
    place: &Place,
    stop: &Request,
    access: &Access,
    (remote, dry_run): (bool, bool),
) -> Result<UninstallAnswer, Failure> {
    if !place.exists() || !place.store_dir().exists() {
        let message = format!("there is no store in {}; nothing was changed", place.git_dir.display());
        return Err(Failure::new(Code::NoStore, message));
    }
    ask_running(place, stop, access.lock_timeout)?;
    let lock = StoreLock::take(&place.lock_path(), access.lock_timeout)?;
    crate::service::uninstall(place, lock, remote, dry_run)
}

/// Takes over a store of the earlier implementation, which no daemon can serve. One that serves a store of ours, whose remote
/// is still the earlier one, is stopped first.
pub fn take_over(
    place: &Place,
    stop: &Request,
    access: &Access,
    remote: bool,
) -> Result<Option<TakenOver>, Failure> {
    ask_running(place, stop, access.lock_timeout)?;
    let _lock = StoreLock::take(&place.lock_path(), access.lock_timeout)?;
    crate::service::take_over(place, &stop.actor, remote)
}

/// A store that cannot be opened is the one case in which `validate` has most to say.
fn on_failure(place: &Place, request: &Request, failure: Failure) -> Reply {
    if matches!(request.call, Call::Validate)
        && matches!(failure.code, Code::CorruptStore | Code::NewerFormat | Code::EarlierFormat)
    {
        return render::reply(Ok(crate::service::findings_of(place, &failure)), &request.output, 0);
    }
    render::failure_reply(failure, request.output.format)
}

/// Asks a daemon that is already running; `None` when there is none.
pub fn ask_running(place: &Place, request: &Request, patience: Duration) -> Result<Option<Reply>, Failure> {
    ask_running_until(place, request, patience, None)
}

/// The same, until another thread hangs up.
fn ask_running_until(
    place: &Place,
    request: &Request,
    patience: Duration,
    hangup: Option<&Hangup>,
) -> Result<Option<Reply>, Failure> {
    match ask_holder(place, request, patience, hangup) {
        Exchange::Reply(reply) => Ok(Some(*reply)),
        Exchange::Silent => Err(no_answer(place, patience)),
        Exchange::Nobody | Exchange::Lost | Exchange::Foreign => Ok(None),
    }
}

/// Asks at the socket that belongs to the store's path, or else at the one that the lock file names.
fn ask_holder(place: &Place, request: &Request, patience: Duration, hangup: Option<&Hangup>) -> Exchange {
    match ask_holder_once(place, request, patience, hangup) {
        // A daemon of an earlier version knows no sessions. Without one it answers, or makes way.
        Exchange::Reply(reply) if request.session.is_some() && is_not_understood(&reply) => {
            let request = Request { session: None, ..request.clone() };
            ask_holder_once(place, &request, patience, hangup)
        }
        other => other,
    }
}

fn is_not_understood(reply: &Reply) -> bool {
    reply.error.as_ref().is_some_and(|failure| failure.code == Code::InvalidRequest)
}

fn ask_holder_once(
    place: &Place,
    request: &Request,
    patience: Duration,
    hangup: Option<&Hangup>,
) -> Exchange {
    match exchange_until(place, &SocketPath::of(place), request, patience, hangup) {
        Exchange::Nobody => match other_socket(place) {
            Some(socket) => exchange_until(place, &socket, request, patience, hangup),
            None => Exchange::Nobody,
        },
        other => other,
    }
}

/// `None` when daemons do not work here and the command should do the work itself.
fn through_daemon(
    place: &Place,
    request: &Request,
    access: &Access,
    (give_up, deadline): (Instant, Deadline),
) -> Result<Option<Reply>, Failure> {
    let mut deadline = deadline.at_most(DAEMON_PATIENCE);
    let mut pause = Duration::from_millis(1);
    let mut starts = 0;
    let mut files = FileRequests::new();
    loop {
        let asked = Instant::now();
        if access.is_hung_up() {
            return Err(hung_up());
        }
        let request = request.still_waiting(give_up);
        match ask_holder(place, &request, access.lock_timeout, access.hangup.as_deref()) {
            Exchange::Reply(reply)
                if reply.error.as_ref().is_some_and(|failure| failure.code == Code::DaemonOlder) => {}
            Exchange::Reply(reply) => return Ok(Some(*reply)),
            Exchange::Silent => return Err(no_answer(place, access.lock_timeout)),
            Exchange::Foreign => return Ok(None),
            Exchange::Nobody if files.are_due() => {
                match request_files::exchange(place, &request, access.lock_timeout, access.hangup.as_deref())
                {
                    Exchange::Reply(reply) => return Ok(Some(*reply)),
                    Exchange::Silent => return Err(no_answer(place, access.lock_timeout)),
                    // Without sockets no daemon can be started from here.
                    _ if files.sockets_denied => return Ok(None),
                    _ => files = FileRequests::new(),
                }
            }
            // It is ready each time, and gone when it is asked: something here lets no daemon live.
            Exchange::Nobody if starts >= MAX_STARTS => return Ok(None),
            Exchange::Nobody => match daemon::start(place, deadline) {
                Ok(daemon::Started::Ready) => starts += 1,
                Ok(daemon::Started::Taken) => {}
                Err(failure)
                    if failure.code == Code::DaemonUnreachable
                        || failure.code == Code::UnsafeRuntimeDirectory =>
                {
                    return Ok(None);
                }
                Err(failure) => return Err(failure),
            },
            // It died or left while we were asking. The request has an id, so asking again is safe.
            Exchange::Lost if asked.elapsed() > SERVED => {
                // It was there and let us wait; patience is for one that is not there.
                deadline = Deadline::after(access.lock_timeout).at_most(DAEMON_PATIENCE);
                (pause, starts) = (Duration::from_millis(1), 0);
            }
            Exchange::Lost => {}
        }
        if deadline.has_passed() {
            return Ok(None);
        }
        deadline.sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// What a request that was left by its own caller ends with.
fn hung_up() -> Failure {
    Failure::new(
        Code::CallCancelled,
        "the call was given up by its caller; a claim made for it is given back",
    )
}

/// The error of a command that could not get at the store: who has it, since when, and what to do.
pub fn no_answer(place: &Place, patience: Duration) -> Failure {
    let path = place.lock_path();
    let waited = patience.as_millis();
    let Some(holder) = Holder::read(&path).filter(|_| StoreLock::is_taken(&path)) else {
        let error = beads_store::Error::Busy { path, waited_ms: u64::try_from(waited).unwrap_or(u64::MAX) };
        return error.into();
    };
    let since = beads_core::Timestamp::from_ms(holder.since_ms).map(|time| time.to_string());
    let since = since.unwrap_or_else(|_| "an unknown time".to_owned());
    let (pid, user) = (holder.pid, &holder.user);
    let message = format!(
        "process {pid} of user {user} has held the store since {since} and did not answer within {waited} ms; \
         if it is stopped, continue it (kill -CONT {pid}); if it hangs, end it (kill {pid}): what it acknowledged \
         is safe. It may run in another container or as another user: then stop it there with bd daemon stop"
    );
    Failure::new(Code::Busy, message).with(serde_json::json!({
        "pid": pid, "user": user, "since": since, "socket": holder.socket, "lock": path,
    }))
}

/// Does the work in this process. Somebody who waits lets go of the store in between.
fn here(
    place: &Place,
    request: &Request,
    access: &Access,
    (give_up, mut deadline): (Instant, Deadline),
) -> Result<Reply, Failure> {
    loop {
        if access.is_hung_up() {
            return Err(hung_up());
        }
        let seen = journal_files(place);
        let last = Instant::now() >= give_up;
        if let Some(reply) = in_process(place, &request.still_waiting(give_up), access, (last, deadline))? {
            return Ok(reply);
        }
        deadline = Deadline::after(access.lock_timeout);
        let looked = Instant::now();
        while Instant::now() < give_up
            && looked.elapsed() < LOOK_AGAIN
            && journal_files(place) == seen
            && !access.is_hung_up()
        {
            let left = give_up.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(LOOK_AT_JOURNAL));
        }
    }
}

/// Names and times of the journal's files: they tell that somebody wrote, without the lock.
fn journal_files(place: &Place) -> Vec<(OsString, Option<SystemTime>)> {
    let entries = std::fs::read_dir(place.store_dir()).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("journal."))
        .map(|entry| (entry.file_name(), entry.metadata().and_then(|metadata| metadata.modified()).ok()))
        .collect();
    files.sort();
    files
}

/// One attempt, under the lock. While a daemon holds the lock, it is asked instead. `None` when what the caller waits
/// for is not there, unless it was the last attempt.
fn in_process(
    place: &Place,
    request: &Request,
    access: &Access,
    (last, deadline): (bool, Deadline),
) -> Result<Option<Reply>, Failure> {
    let mut pause = Duration::from_micros(200);
    let files = FileRequests::new();
    let lock = loop {
        match StoreLock::try_take(&place.lock_path()) {
            Ok(Some(lock)) => break lock,
            Ok(None) => {}
            Err(error) if error.is_read_only() && request.call.only_reads() => {
                let mut service = Service::open_to_read(place)?;
                return Ok(if last { Some(service.answer(request)) } else { service.attempt(request) });
            }
            Err(error) if error.is_read_only() => return Err(not_writable(place, error)),
            Err(error) => return Err(error.into()),
        }
        let hangup = access.hangup.as_deref();
        if let Some(reply) = ask_running_until(place, request, access.lock_timeout, hangup)? {
            return Ok(Some(reply));
        }
        if access.is_hung_up() {
            return Err(hung_up());
        }
        if files.are_due() {
            match request_files::exchange(place, request, deadline.left(), hangup) {
                Exchange::Reply(reply) => return Ok(Some(*reply)),
                Exchange::Silent => return Err(no_answer(place, deadline.patience())),
                _ => {}
            }
        }
        if deadline.has_passed() {
            return Err(no_answer(place, deadline.patience()));
        }
        deadline.sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    };
    let mut service = Service::open(place, lock)?;
    service.saw(request);
    let reply = if last { Some(service.answer(request)) } else { service.attempt(request) };
    let committed = service.commit();
    service.check_identity()?;
    committed?;
    service.save_if_due();
    service.note_journal_end();
    if let Some(Err(failure)) = service.take_export().map(|job| job.run()) {
        // The mutation is done; the file is only a copy.
        eprintln!("Warning: {}", failure.message);
    }
    if access.is_last && reply.is_some() {
        service.part();
    }
    Ok(reply)
}

/// Passing: it has to outlive the loss of a reply, no more.
pub fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok().map(|()| format!("~{}", hex(&bytes)))
}
