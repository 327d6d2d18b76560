//! Sends a request to the store's daemon, starting one if necessary, or runs it in this process.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use beads_core::canonical::hex;
use beads_store::{Holder, StoreLock, TakenOver, fill_random};

use crate::cancel::CancelToken;
use crate::conversation::{Exchange, exchange_until, other_socket};
use crate::daemon::{self, SocketPath};
use crate::deadline::Deadline;
use crate::failure::{Code, Failure};
use crate::not_writable::not_writable;
use crate::place::Place;
use crate::render::{self, UninstallAnswer};
use crate::request::{Call, Reply, Request};
use crate::request_files::{self, FileRequests};
use crate::service::Service;

/// How long a command tries to reach a daemon that keeps exiting before it runs the request in its own
/// process.
const DAEMON_PATIENCE: Duration = Duration::from_secs(15);

/// A daemon that held the connection for longer than this was working on the request.
const SERVING_AFTER: Duration = Duration::from_secs(1);

/// After this many starts without a reply, a daemon evidently cannot run here.
const MAX_STARTS: usize = 3;

/// Without a daemon, a waiting command checks this often whether the journal has changed.
const LOOK_AT_JOURNAL: Duration = Duration::from_millis(50);

/// Without a daemon, a waiting command retries this often even if the journal has not changed, in case a
/// lease expired.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How to reach the store.
#[derive(Debug, Clone)]
pub struct Access {
    /// Do not start a daemon. One that is already running still answers, because it holds the lock.
    pub no_daemon: bool,
    /// How long to wait for the lock, or for the lock holder to answer.
    pub lock_timeout: Duration,
    /// This is the last request of the process, so its memory need not be freed.
    pub is_last: bool,
    /// Lets another thread cancel the request.
    pub cancel: Option<Arc<CancelToken>>,
}

impl Access {
    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.is_cancelled())
    }
}

impl Default for Access {
    fn default() -> Self {
        Self { no_daemon: false, lock_timeout: Duration::from_secs(30), is_last: false, cancel: None }
    }
}

/// Answers a request, through the daemon or in this process. Errors are replies, too.
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
        Ok(None) => run_in_process(place, &request, access, until),
        Err(failure) => Err(failure),
    };
    answered.unwrap_or_else(|failure| on_failure(place, &request, failure))
}

/// Returns the answer for a private store that does not exist; `None` if the request creates it.
fn without_store(place: &Place, request: &Request) -> Option<Result<Reply, Failure>> {
    let directory = place.git_dir.parent().unwrap_or(&place.git_dir).display().to_string();
    let may_make =
        place.may_be_created_by_write() || matches!(request.call, Call::Init { private: true, .. });
    if request.call.creates_the_store() {
        let message = || {
            format!(
                "{directory} has no store and is inside a git repository; omit --db and BEADS_DIR to use the repository's \
                 store, or create a private one with bd init --private"
            )
        };
        return (!may_make).then(|| Err(Failure::new(Code::NoStore, message())));
    }
    if matches!(request.call, Call::Query(_)) && place.has_directory() {
        return Some(answer_from_empty_store(place, request));
    }
    let message = format!("not in a git repository, and {directory} has no store");
    Some(Err(Failure::new(Code::NoStore, message)))
}

/// Answers a query on a directory without a store, as an empty store would, and creates nothing there.
fn answer_from_empty_store(place: &Place, request: &Request) -> Result<Reply, Failure> {
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

/// Repairs a store. It may be impossible to open, so no daemon is started. A running daemon is stopped before
/// anything is changed.
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

/// Removes a store, after stopping its daemon.
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

/// Migrates a legacy store, which no daemon can serve. If the local store was migrated
/// before and only the remote was not, a daemon may be running; it is stopped first.
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

/// Turns a failure into a reply. For `validate`, a store that cannot be opened is a list of findings.
fn on_failure(place: &Place, request: &Request, failure: Failure) -> Reply {
    if matches!(request.call, Call::Validate)
        && matches!(failure.code, Code::CorruptStore | Code::NewerFormat | Code::EarlierFormat)
    {
        return render::reply(Ok(crate::service::findings_of(place, &failure)), &request.output, 0);
    }
    render::failure_reply(failure, request.output.format)
}

/// Sends a request to the daemon that is already running; `None` if there is none.
pub fn ask_running(place: &Place, request: &Request, patience: Duration) -> Result<Option<Reply>, Failure> {
    ask_running_until(place, request, patience, None)
}

/// Like [`ask_running`], but another thread can cancel it.
fn ask_running_until(
    place: &Place,
    request: &Request,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Result<Option<Reply>, Failure> {
    match ask_holder(place, request, patience, cancel) {
        Exchange::Reply(reply) => Ok(Some(*reply)),
        Exchange::TimedOut => Err(no_answer(place, patience)),
        Exchange::NotListening | Exchange::Disconnected | Exchange::OtherStore => Ok(None),
    }
}

/// Sends a request to the lock holder: to the socket that belongs to the store's path, or else to the one
/// that the lock file names.
fn ask_holder(
    place: &Place,
    request: &Request,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Exchange {
    match ask_holder_once(place, request, patience, cancel) {
        // An earlier version does not know sessions. Without one it answers, or exits in favor of a newer
        // daemon.
        Exchange::Reply(reply) if request.session.is_some() && is_not_understood(&reply) => {
            let request = Request { session: None, ..request.clone() };
            ask_holder_once(place, &request, patience, cancel)
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
    cancel: Option<&CancelToken>,
) -> Exchange {
    match exchange_until(place, &SocketPath::of(place), request, patience, cancel) {
        Exchange::NotListening => match other_socket(place) {
            Some(socket) => exchange_until(place, &socket, request, patience, cancel),
            None => Exchange::NotListening,
        },
        other => other,
    }
}

/// Sends a request to the daemon, starting one if necessary. Returns `None` if no daemon can run here and the
/// command has to run the request itself.
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
        if access.is_cancelled() {
            return Err(cancelled());
        }
        let request = request.with_remaining_wait(give_up);
        match ask_holder(place, &request, access.lock_timeout, access.cancel.as_deref()) {
            Exchange::Reply(reply)
                if reply.error.as_ref().is_some_and(|failure| failure.code == Code::DaemonOlder) => {}
            Exchange::Reply(reply) => return Ok(Some(*reply)),
            Exchange::TimedOut => return Err(no_answer(place, access.lock_timeout)),
            Exchange::OtherStore => return Ok(None),
            Exchange::NotListening if files.are_due() => {
                match request_files::exchange(place, &request, access.lock_timeout, access.cancel.as_deref())
                {
                    Exchange::Reply(reply) => return Ok(Some(*reply)),
                    Exchange::TimedOut => return Err(no_answer(place, access.lock_timeout)),
                    // Without sockets no daemon can be started from here.
                    _ if files.sockets_denied => return Ok(None),
                    _ => files = FileRequests::new(),
                }
            }
            // Each one became ready and was gone when asked: something here keeps killing daemons.
            Exchange::NotListening if starts >= MAX_STARTS => return Ok(None),
            Exchange::NotListening => match daemon::start(place, deadline) {
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
            // It died or exited before it answered. The request has an id, so a retry is safe.
            Exchange::Disconnected if asked.elapsed() > SERVING_AFTER => {
                // The daemon did work on it. The deadline is only for finding a daemon, so it starts over.
                deadline = Deadline::after(access.lock_timeout).at_most(DAEMON_PATIENCE);
                (pause, starts) = (Duration::from_millis(1), 0);
            }
            Exchange::Disconnected => {}
        }
        if deadline.has_passed() {
            return Ok(None);
        }
        deadline.sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The failure of a request that its caller cancelled.
fn cancelled() -> Failure {
    Failure::new(Code::CallCancelled, "the caller cancelled the call; a claim made for it is released")
}

/// The failure of a command that could not get the lock: who holds it, since when, and what to do.
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

/// Runs a request in this process. A request that waits releases the lock between attempts.
fn run_in_process(
    place: &Place,
    request: &Request,
    access: &Access,
    (give_up, mut deadline): (Instant, Deadline),
) -> Result<Reply, Failure> {
    loop {
        if access.is_cancelled() {
            return Err(cancelled());
        }
        let seen = journal_files(place);
        let last = Instant::now() >= give_up;
        if let Some(reply) =
            try_in_process(place, &request.with_remaining_wait(give_up), access, (last, deadline))?
        {
            return Ok(reply);
        }
        deadline = Deadline::after(access.lock_timeout);
        let looked = Instant::now();
        while Instant::now() < give_up
            && looked.elapsed() < LOOK_AGAIN
            && journal_files(place) == seen
            && !access.is_cancelled()
        {
            let left = give_up.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(LOOK_AT_JOURNAL));
        }
    }
}

/// Returns the names and times of the journal's files. They change with every write and can be read without
/// the lock.
fn journal_files(place: &Place) -> Vec<(OsString, Option<SystemTime>)> {
    let entries = std::fs::read_dir(place.store_dir()).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("journal."))
        .map(|entry| (entry.file_name(), entry.metadata().and_then(|metadata| metadata.modified()).ok()))
        .collect();
    files.sort();
    files
}

/// Makes one attempt under the lock. If a daemon holds the lock, the request is sent to it instead. Returns
/// `None` if the result that the caller waits for does not exist yet, unless this is the last attempt.
fn try_in_process(
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
        let cancel = access.cancel.as_deref();
        if let Some(reply) = ask_running_until(place, request, access.lock_timeout, cancel)? {
            return Ok(Some(reply));
        }
        if access.is_cancelled() {
            return Err(cancelled());
        }
        if files.are_due() {
            match request_files::exchange(place, request, deadline.left(), cancel) {
                Exchange::Reply(reply) => return Ok(Some(*reply)),
                Exchange::TimedOut => return Err(no_answer(place, deadline.patience())),
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
    service.mark_session_alive(request);
    let reply = if last { Some(service.answer(request)) } else { service.attempt(request) };
    let committed = service.commit();
    service.check_identity()?;
    committed?;
    service.save_if_due();
    service.note_journal_end();
    if let Some(Err(failure)) = service.take_export().map(|job| job.run()) {
        // The mutation is durable; the file is only a copy.
        eprintln!("Warning: {}", failure.message);
    }
    if access.is_last && reply.is_some() {
        service.close_without_drop();
    }
    Ok(reply)
}

/// Generates a short-lived request id; it only has to survive one retry.
pub fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes).ok().map(|()| format!("~{}", hex(&bytes)))
}
