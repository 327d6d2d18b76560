//! Sends one request to a daemon's socket and receives the reply, within a time limit.

use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use beads_store::{Holder, StoreLock};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::cancel::CancelToken;
use crate::daemon::{self, SocketPath};
use crate::deadline::Deadline;
use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::render;
use crate::request::{Call, Output, Reply, Request};
use crate::wire;

/// How long a daemon that has exceeded the time limit may take to prove that it is alive.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an import may take in addition to the usual time limit.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The outcome of sending one request to a daemon.
#[derive(Debug)]
pub enum Exchange {
    /// The daemon answered.
    Reply(Box<Reply>),
    /// No process listens on the socket.
    NotListening,
    /// The connection was closed before the reply arrived.
    Disconnected,
    /// The daemon did not answer in time.
    TimedOut,
    /// The daemon serves another store with the same path, for example in another container.
    OtherStore,
}

/// Sends a request to the daemon at a socket, once. `patience` is the time limit in addition to what the call
/// itself may take.
pub fn exchange(place: &Place, socket: &SocketPath, request: &Request, patience: Duration) -> Exchange {
    exchange_until(place, socket, request, patience, None)
}

/// Like [`exchange`], but another thread can cancel it.
pub fn exchange_until(
    place: &Place,
    socket: &SocketPath,
    request: &Request,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Exchange {
    // In a directory that other users can write to, the socket could be anyone's.
    if socket.check().is_err() {
        return Exchange::NotListening;
    }
    let stream = match connect(socket, patience) {
        Connected::Stream(stream) => stream,
        Connected::NotListening => return Exchange::NotListening,
        Connected::TimedOut => return Exchange::TimedOut,
    };
    if StoreLock::is_taken(&place.lock_path()) {
        return round_trip_until(stream, socket, request, patience, cancel);
    }
    // Our store's daemon would hold the lock. So this daemon serves another store, or its repository was
    // replaced. In the latter case it notices on the next request, and exits.
    let question = Request { call: Call::DaemonStatus, request_id: None, ..request.clone() };
    match round_trip_until(stream, socket, &question, patience, cancel) {
        // Its repository was replaced. It reports where the changes were saved, and exits.
        Exchange::Reply(reply) if is_replaced(&reply) => match request.call {
            Call::DaemonStop => Exchange::Reply(reply),
            _ => Exchange::NotListening,
        },
        Exchange::Reply(_) => Exchange::OtherStore,
        Exchange::TimedOut => Exchange::TimedOut,
        _ => Exchange::NotListening,
    }
}

/// Returns the socket that the lock file names, if the lock is taken and that is not the store's usual
/// socket: the repository was moved, or the daemon uses another runtime directory.
pub fn other_socket(place: &Place) -> Option<SocketPath> {
    let path = place.lock_path();
    let named = Holder::read(&path)?.socket?;
    (named != SocketPath::of(place).path() && StoreLock::is_taken(&path)).then(|| SocketPath::at(&named))?
}

/// Returns whether this process is not allowed to create sockets, as in some sandboxes.
pub fn are_sockets_denied() -> bool {
    let made = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
    matches!(made, Err(errno) if !matches!(errno, rustix::io::Errno::MFILE | rustix::io::Errno::NFILE | rustix::io::Errno::NOMEM))
}

enum Connected {
    Stream(UnixStream),
    NotListening,
    TimedOut,
}

/// Connects with a time limit. A suspended daemon does not accept connections; once its backlog is full,
/// connecting blocks.
fn connect(socket: &SocketPath, patience: Duration) -> Connected {
    let connected = || -> rustix::io::Result<UnixStream> {
        let address = SocketAddrUnix::new(socket.path())?;
        let file = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        let _ = rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::CLOEXEC);
        set_socket_timeout(&file, Timeout::Send, Some(patience.max(Duration::from_millis(1))))?;
        rustix::net::connect(&file, &address)?;
        Ok(UnixStream::from(file))
    };
    match connected() {
        Ok(stream) => Connected::Stream(stream),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::TIMEDOUT) => Connected::TimedOut,
        Err(_) => Connected::NotListening,
    }
}

/// Sends a request and receives its reply. Another thread can cancel it by closing the connection.
fn round_trip_until(
    stream: UnixStream,
    socket: &SocketPath,
    request: &Request,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Exchange {
    let Some(cancel) = cancel else { return round_trip(stream, socket, request, patience) };
    if !cancel.connect(&stream) {
        return Exchange::Disconnected;
    }
    let outcome = round_trip(stream, socket, request, patience);
    cancel.disconnect();
    outcome
}

fn round_trip(
    mut stream: UnixStream,
    socket: &SocketPath,
    request: &Request,
    patience: Duration,
) -> Exchange {
    let Ok(mut frame) = serde_json::to_vec(request) else { return Exchange::Disconnected };
    if frame.len() > daemon::MAX_FRAME_BYTES {
        // The daemon would close the connection, as if it had died.
        let message = format!(
            "the request has {} bytes, more than the limit of {}",
            frame.len(),
            daemon::MAX_FRAME_BYTES
        );
        let failure = Failure::new(Code::TooLarge, message);
        return Exchange::Reply(Box::new(render::failure_reply(failure, request.output.format)));
    }
    frame.push(b'\n');
    match stream.write_all(&frame) {
        Ok(()) => {}
        Err(error) if is_timeout(&error) => return Exchange::TimedOut,
        Err(_) => return Exchange::Disconnected,
    }
    loop {
        match wait_for_reply(&stream, patience + request.call.wait() + extra_time(&request.call)) {
            Ok(()) => break,
            // A sync takes as long as its remote needs, but the daemon stays responsive.
            Err(Exchange::TimedOut) if matches!(request.call, Call::Sync) && is_alive(socket, request) => {}
            Err(outcome) => return outcome,
        }
    }
    // Once the reply has begun, the rest follows quickly.
    if stream.set_read_timeout(Some(patience.max(LIVENESS_TIMEOUT))).is_err() {
        return Exchange::Disconnected;
    }
    wire::receive(stream).map_or(Exchange::Disconnected, |reply| Exchange::Reply(Box::new(reply)))
}

/// Waits for the first byte of a reply, without consuming it.
fn wait_for_reply(stream: &UnixStream, patience: Duration) -> Result<(), Exchange> {
    let deadline = Deadline::after(patience);
    loop {
        let left = deadline.left().max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(|_| Exchange::Disconnected)?;
        match rustix::net::recv(stream, &mut [0_u8; 1], rustix::net::RecvFlags::PEEK) {
            Ok((0, _)) => return Err(Exchange::Disconnected),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) if !deadline.has_passed() => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Err(Exchange::TimedOut),
            Err(_) => return Err(Exchange::Disconnected),
        }
    }
}

/// Returns whether the daemon reported that its repository was replaced: `DaemonStatus` has no other failure.
fn is_replaced(reply: &Reply) -> bool {
    reply.exit != 0 || reply.error.is_some()
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Returns how much longer than usual a call may take.
pub(crate) fn extra_time(call: &Call) -> Duration {
    match call {
        Call::Import { .. } | Call::ImportRescued { .. } => IMPORT_TIMEOUT,
        _ => Duration::ZERO,
    }
}

fn is_alive(socket: &SocketPath, request: &Request) -> bool {
    let Connected::Stream(stream) = connect(socket, LIVENESS_TIMEOUT) else { return false };
    matches!(round_trip(stream, socket, &liveness_probe(request), LIVENESS_TIMEOUT), Exchange::Reply(_))
}

fn liveness_probe(request: &Request) -> Request {
    Request { call: Call::DaemonStatus, output: Output::default(), request_id: None, ..request.clone() }
}
