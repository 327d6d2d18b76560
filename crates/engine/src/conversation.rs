//! One request and its reply over a daemon's socket, within a bounded time.

use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use beads_store::{Holder, StoreLock};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::daemon::{self, SocketPath};
use crate::deadline::Deadline;
use crate::failure::{Code, Failure};
use crate::hangup::Hangup;
use crate::place::Place;
use crate::render;
use crate::request::{Call, Output, Reply, Request};
use crate::wire;

/// How long a daemon may take to say that it is alive, when it has been silent for longer than was asked for.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// How long taking in a file may take: meanwhile the daemon answers nobody.
const LONG_WORK: Duration = Duration::from_secs(10 * 60);

/// The outcome of asking a daemon once.
#[derive(Debug)]
pub enum Exchange {
    Reply(Box<Reply>),
    /// Nothing listens there.
    Nobody,
    /// The connection ended before the reply came.
    Lost,
    /// It listens, and did not answer in time.
    Silent,
    /// It serves a store that has the same path elsewhere, such as in another container.
    Foreign,
}

/// Asks the daemon at a socket, once. `patience` is how long it may be silent beyond what the call itself may take.
pub fn exchange(place: &Place, socket: &SocketPath, request: &Request, patience: Duration) -> Exchange {
    exchange_until(place, socket, request, patience, None)
}

/// The same, until another thread hangs up.
pub fn exchange_until(
    place: &Place,
    socket: &SocketPath,
    request: &Request,
    patience: Duration,
    hangup: Option<&Hangup>,
) -> Exchange {
    // A directory that others can write to could hold anybody's socket.
    if socket.check().is_err() {
        return Exchange::Nobody;
    }
    let stream = match connect(socket, patience) {
        Connected::Stream(stream) => stream,
        Connected::Nobody => return Exchange::Nobody,
        Connected::Silent => return Exchange::Silent,
    };
    if StoreLock::is_taken(&place.lock_path()) {
        return converse_until(stream, socket, request, patience, hangup);
    }
    // The daemon of the store around us holds its lock, so this is another one's, or ours was replaced under it. In
    // the latter case it notices when it is asked something, and leaves.
    let question = Request { call: Call::DaemonStatus, request_id: None, ..request.clone() };
    match converse_until(stream, socket, &question, patience, hangup) {
        // It was replaced, says where its changes went, and leaves.
        Exchange::Reply(reply) if is_replaced(&reply) => match request.call {
            Call::DaemonStop => Exchange::Reply(reply),
            _ => Exchange::Nobody,
        },
        Exchange::Reply(_) => Exchange::Foreign,
        Exchange::Silent => Exchange::Silent,
        _ => Exchange::Nobody,
    }
}

/// The socket that the lock file names, when the lock is taken and that is not the socket we would have asked: the
/// repository was moved, or the daemon has another runtime directory.
pub fn other_socket(place: &Place) -> Option<SocketPath> {
    let path = place.lock_path();
    let named = Holder::read(&path)?.socket?;
    (named != SocketPath::of(place).path() && StoreLock::is_taken(&path)).then(|| SocketPath::at(&named))?
}

/// Whether this process may not use sockets at all, as in the sandboxes of some harnesses.
pub fn are_sockets_denied() -> bool {
    let made = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
    matches!(made, Err(errno) if !matches!(errno, rustix::io::Errno::MFILE | rustix::io::Errno::NFILE | rustix::io::Errno::NOMEM))
}

enum Connected {
    Stream(UnixStream),
    Nobody,
    Silent,
}

/// A daemon that is stopped accepts nothing, and once enough clients wait for it even connecting would block.
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
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::TIMEDOUT) => Connected::Silent,
        Err(_) => Connected::Nobody,
    }
}

/// Sends a request and receives its reply. When another thread hangs up, the connection is lost.
fn converse_until(
    stream: UnixStream,
    socket: &SocketPath,
    request: &Request,
    patience: Duration,
    hangup: Option<&Hangup>,
) -> Exchange {
    let Some(hangup) = hangup else { return converse(stream, socket, request, patience) };
    if !hangup.connect(&stream) {
        return Exchange::Lost;
    }
    let outcome = converse(stream, socket, request, patience);
    hangup.disconnect();
    outcome
}

fn converse(mut stream: UnixStream, socket: &SocketPath, request: &Request, patience: Duration) -> Exchange {
    let Ok(mut frame) = serde_json::to_vec(request) else { return Exchange::Lost };
    if frame.len() > daemon::MAX_FRAME_BYTES {
        // The daemon would hang up on it, which looks like a daemon that died.
        let message = format!("the command has {} bytes, more than fit into one request", frame.len());
        let failure = Failure::new(Code::TooLarge, message);
        return Exchange::Reply(Box::new(render::failure_reply(failure, request.output.format)));
    }
    frame.push(b'\n');
    match stream.write_all(&frame) {
        Ok(()) => {}
        Err(error) if is_timeout(&error) => return Exchange::Silent,
        Err(_) => return Exchange::Lost,
    }
    loop {
        match wait_for_reply(&stream, patience + request.call.wait() + work_of(&request.call)) {
            Ok(()) => break,
            // A sync takes as long as its remote does, and the daemon answers others meanwhile.
            Err(Exchange::Silent) if matches!(request.call, Call::Sync) && is_alive(socket, request) => {}
            Err(outcome) => return outcome,
        }
    }
    // Once it has begun to answer, each part comes soon.
    if stream.set_read_timeout(Some(patience.max(SIGN_OF_LIFE))).is_err() {
        return Exchange::Lost;
    }
    wire::receive(stream).map_or(Exchange::Lost, |reply| Exchange::Reply(Box::new(reply)))
}

/// Returns when the first byte of a reply is there, without taking it.
fn wait_for_reply(stream: &UnixStream, patience: Duration) -> Result<(), Exchange> {
    let deadline = Deadline::after(patience);
    loop {
        let left = deadline.left().max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(|_| Exchange::Lost)?;
        match rustix::net::recv(stream, &mut [0_u8; 1], rustix::net::RecvFlags::PEEK) {
            Ok((0, _)) => return Err(Exchange::Lost),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) if !deadline.has_passed() => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Err(Exchange::Silent),
            Err(_) => return Err(Exchange::Lost),
        }
    }
}

/// A rendered failure has no code, but its exit status; only this one failure answers a question about the daemon.
fn is_replaced(reply: &Reply) -> bool {
    reply.exit != 0 || reply.error.is_some()
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

pub(crate) fn work_of(call: &Call) -> Duration {
    match call {
        Call::Import { .. } | Call::ImportRescued { .. } => LONG_WORK,
        _ => Duration::ZERO,
    }
}

fn is_alive(socket: &SocketPath, request: &Request) -> bool {
    let Connected::Stream(stream) = connect(socket, SIGN_OF_LIFE) else { return false };
    matches!(converse(stream, socket, &sign_of_life(request), SIGN_OF_LIFE), Exchange::Reply(_))
}

fn sign_of_life(request: &Request) -> Request {
    Request { call: Call::DaemonStatus, output: Output::default(), request_id: None, ..request.clone() }
}
