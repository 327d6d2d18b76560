//! Runs the daemon (`bd daemon run`): opens the store, listens, serves clients, saves and exits.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use beads_store::{Holder, StoreLock};
use tokio::net::UnixListener;
use tokio::sync::mpsc;

use super::engine::Engine;
use super::socket::no_socket;
use super::start::{LOST_THE_RACE, OPENING, READY};
use super::{MAX_QUEUE, ReadCommand, SocketPath, VERSION, connection, file_limit, file_requests};
use crate::failure::{Code, Failure};
use crate::log;
use crate::place::Place;
use crate::service::Service;

/// How long a new daemon waits for the previous one to exit, if its starter sets no limit.
const PATIENCE: Duration = Duration::from_secs(10);

/// The options of `bd daemon run`.
#[derive(Debug)]
pub struct RunOptions {
    /// The store.
    pub place: Place,
    /// Detach from the terminal's session, and tell the starter when ready.
    pub detach: bool,
    /// How long to wait for the store's lock.
    pub patience: Option<Duration>,
    /// Parses forwarded command lines.
    pub read_command: ReadCommand,
}

/// Runs the daemon until it is stopped, idle for `daemon.idle`, or cannot write to disk.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    if options.detach {
        // Fails only if this process already leads a session, which is the goal.
        let _ = rustix::process::setsid();
        let _ = std::env::set_current_dir("/");
        log::redirect_to(&options.place.store_dir());
    }
    unblock_signals();
    raise_file_limit();
    let opened = open(options);
    let announcement = match &opened {
        Ok(Some(_)) => READY.to_owned(),
        Ok(None) => LOST_THE_RACE.to_owned(),
        Err(failure) => serde_json::to_string(failure).unwrap_or_default(),
    };
    if options.detach {
        announce(&announcement);
        close_standard_output();
    }
    let opened = match opened {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(()),
        Err(failure) => {
            log::note(&format!("cannot open the store: {}: {}", failure.code, failure.message));
            return Err(failure);
        }
    };
    log::note(&format!("started: bd {VERSION}, store {}", options.place.git_dir.display()));
    let served = serve(opened, options.read_command);
    match &served {
        Ok(()) => log::note("stopped"),
        Err(failure) => log::note(&format!("stopped: {}: {}", failure.code, failure.message)),
    }
    served
}

/// Unblocks all signals. The signal mask is inherited, and a daemon that blocks SIGTERM would never save and
/// exit.
#[allow(unsafe_code)]
fn unblock_signals() {
    // SAFETY: the set is initialised before it is read, and this thread is the only one.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// A daemon that is ready to serve.
struct Opened {
    service: Service,
    listener: std::os::unix::net::UnixListener,
    socket: SocketPath,
    /// Created before the daemon reports that it is ready, because creating it fails without file
    /// descriptors.
    runtime: tokio::runtime::Runtime,
}

/// Opens the store and listens. Returns `None` if another daemon serves the store.
fn open(options: &RunOptions) -> Result<Option<Opened>, Failure> {
    let place = &options.place;
    let socket = SocketPath::of(place);
    // A lock holder that listens is another daemon, and stays. One that does not is a daemon that is exiting
    // or a command that will soon finish, so wait for it.
    let is_served = || std::os::unix::net::UnixStream::connect(socket.path()).is_ok();
    let patience = options.patience.unwrap_or(PATIENCE);
    let lock = match StoreLock::take_unless(&place.lock_path(), patience, is_served) {
        Ok(Some(lock)) => lock,
        Ok(None) | Err(beads_store::Error::Busy { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if options.detach {
        announce(OPENING);
    }
    lock.record(&Holder::this_process(Some(socket.path())));
    socket.prepare()?;
    let service = Service::open(place, lock)?;
    // We hold the lock, so an existing socket is a leftover of a dead daemon.
    let _ = std::fs::remove_file(socket.path());
    let listener = std::os::unix::net::UnixListener::bind(socket.path())
        .map_err(|error| no_socket("listen on", socket.path(), &error))?;
    std::fs::set_permissions(socket.path(), std::fs::Permissions::from_mode(0o600))
        .map_err(|error| no_socket("protect", socket.path(), &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(Code::DaemonUnreachable, format!("cannot serve: {error}")))?;
    file_limit::require_free_descriptors()?;
    Ok(Some(Opened { service, listener, socket, runtime }))
}

/// Raises the limit on open files. Every client needs a descriptor, and the limit inherited from a terminal
/// may be too low.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // If this fails, the old limit is enough for a few clients.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Sends one line to the starter.
fn announce(line: &str) {
    let mut stdout = std::io::stdout();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Closes the pipe to the starter, so that it does not wait for more.
fn close_standard_output() {
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

/// Serves clients until the engine stops, then shuts down.
fn serve(opened: Opened, read_command: ReadCommand) -> Result<(), Failure> {
    let Opened { service, listener, socket, runtime } = opened;
    let failed = |error: std::io::Error| Failure::new(Code::IoError, format!("cannot serve: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let ours = socket.file_identity();
    let served = runtime.block_on(async {
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        let (jobs, queue) = mpsc::channel(MAX_QUEUE);
        let mut engine = Engine::new(service, queue, socket.clone());
        let store_dir = engine.store_dir();
        let files = file_requests::serve(store_dir, jobs.clone(), engine.connections(), read_command);
        let files = tokio::spawn(files);
        let accepting = tokio::spawn(connection::accept(listener, jobs, engine.connections(), read_command));
        let served = engine.run().await;
        // From now on, new clients start the next daemon, which waits for our lock.
        accepting.abort();
        files.abort();
        // If the store was replaced, the next daemon may already listen there.
        if socket.file_identity() == ours {
            let _ = std::fs::remove_file(socket.path());
        }
        let connections = engine.connections();
        let left = engine.shut_down(served).await;
        connection::drain_replies(&connections).await;
        left
    });
    // An abandoned sync may still hang in the git library; it ends with the process.
    runtime.shutdown_background();
    served
}
