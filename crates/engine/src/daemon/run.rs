//! `bd daemon run`: open the store, listen, serve, save, leave.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use beads_store::{Holder, StoreLock};
use tokio::net::UnixListener;
use tokio::sync::mpsc;

use super::engine::Engine;
use super::socket::no_socket;
use super::start::{LOST_THE_RACE, OPENING, READY};
use super::{MAX_QUEUE, ReadCommand, SocketPath, VERSION, connection, file_requests, room};
use crate::failure::{Code, Failure};
use crate::log;
use crate::place::Place;
use crate::service::Service;

/// How long a new daemon waits for one that is leaving, unless its starter says so.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct RunOptions {
    pub place: Place,
    /// Leave the terminal's session and tell the starter when ready.
    pub detach: bool,
    /// How long to wait for the store.
    pub patience: Option<Duration>,
    pub read_command: ReadCommand,
}

/// Serves until told to stop, until nobody has asked for long, or until the disk fails.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    if options.detach {
        // Fails only for a process that leads a session already, which is what we want to be.
        let _ = rustix::process::setsid();
        let _ = std::env::set_current_dir("/");
        log::keep(&options.place.store_dir());
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

/// A starter that blocks signals passes that on, and a daemon that never hears SIGTERM never saves and leaves.
#[allow(unsafe_code)]
fn unblock_signals() {
    // SAFETY: the set is initialised before it is read, and this thread is the only one.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

struct Opened {
    service: Service,
    listener: std::os::unix::net::UnixListener,
    socket: SocketPath,
    /// Made before the starter is told that all is well: without file descriptors it fails.
    runtime: tokio::runtime::Runtime,
}

/// `None` when another daemon has the store and keeps it.
fn open(options: &RunOptions) -> Result<Option<Opened>, Failure> {
    let place = &options.place;
    let socket = SocketPath::of(place);
    // A daemon that listens stays, also one that was faster just now; who holds the lock and does not is leaving, or is a
    // command that is soon done.
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
    lock.record(&Holder::ours(Some(socket.path())));
    socket.prepare()?;
    let service = Service::open(place, lock)?;
    // We hold the lock, so whatever lies there is left over from a daemon that is gone.
    let _ = std::fs::remove_file(socket.path());
    let listener = std::os::unix::net::UnixListener::bind(socket.path())
        .map_err(|error| no_socket("listen on", socket.path(), &error))?;
    std::fs::set_permissions(socket.path(), std::fs::Permissions::from_mode(0o600))
        .map_err(|error| no_socket("protect", socket.path(), &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(Code::DaemonUnreachable, format!("cannot serve: {error}")))?;
    room::require()?;
    Ok(Some(Opened { service, listener, socket, runtime }))
}

/// A daemon serves many clients at once, each with a file descriptor. The limit of a terminal may be too low for it.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // The old limit stays, which is fine for a few clients.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// One line to the starter.
fn announce(line: &str) {
    let mut stdout = std::io::stdout();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// The starter need not wait for the end of its pipe.
fn close_standard_output() {
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

fn serve(opened: Opened, read_command: ReadCommand) -> Result<(), Failure> {
    let Opened { service, listener, socket, runtime } = opened;
    let failed = |error: std::io::Error| Failure::new(Code::IoError, format!("cannot serve: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let ours = socket.birth();
    let served = runtime.block_on(async {
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        let (jobs, queue) = mpsc::channel(MAX_QUEUE);
        let mut engine = Engine::new(service, queue, socket.clone());
        let store_dir = engine.store_dir();
        let files = file_requests::serve(store_dir, jobs.clone(), engine.connections(), read_command);
        let files = tokio::spawn(files);
        let accepting = tokio::spawn(connection::accept(listener, jobs, engine.connections(), read_command));
        let served = engine.run().await;
        // New clients now find nobody and start the next daemon, which waits for our lock.
        accepting.abort();
        files.abort();
        // Where the store was replaced, the next daemon may listen there already.
        if socket.birth() == ours {
            let _ = std::fs::remove_file(socket.path());
        }
        let connections = engine.connections();
        let left = engine.leave(served).await;
        connection::settle(&connections).await;
        left
    });
    // A sync that was abandoned may hang in the library; it ends with the process.
    runtime.shutdown_background();
    served
}
