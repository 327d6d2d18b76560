//! Serves the clients that connect to the socket, with one task for each. A request is one line, and so is a
//! reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use super::file_limit::{self, SpareDescriptor};
use super::{FRAME_TIMEOUT, MAX_CONNECTIONS, MAX_FRAME_BYTES, MAX_UNREAD_BYTES, ReadCommand, SEND_TIMEOUT};
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Call, Format, HandedOut, Reply, Request};
use crate::wire::{encode, expects_body};

/// A request for the engine.
#[derive(Debug)]
pub struct Job {
    /// The request.
    pub request: Request,
    /// Where to send the reply.
    pub reply: oneshot::Sender<Reply>,
}

/// Counters of the daemon's load.
#[derive(Debug)]
pub struct Traffic {
    /// The number of connected clients.
    pub open: AtomicUsize,
    /// The number of requests whose replies have not been written yet.
    pending: AtomicUsize,
    /// The number of reply bytes that are being written.
    unread: AtomicUsize,
    /// Reports claims whose replies could not be delivered to the engine.
    losses: mpsc::UnboundedSender<Vec<HandedOut>>,
}

impl Traffic {
    /// Returns counters at zero.
    pub fn new(losses: mpsc::UnboundedSender<Vec<HandedOut>>) -> Self {
        let [open, pending, unread] = [0; 3].map(AtomicUsize::new);
        Self { open, pending, unread, losses }
    }

    /// Reports claims whose reply could not be delivered.
    pub(super) fn report_lost(&self, claims: Vec<HandedOut>) {
        if !claims.is_empty() {
            // If the engine has stopped, the claims end with their leases.
            let _ = self.losses.send(claims);
        }
    }
}

/// The shared counters.
pub type Connections = Arc<Traffic>;

/// How long an exiting daemon waits for clients to read their last replies.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The pause after a failed accept.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// How long a client that is refused because no file descriptors are left may take to send its request. Other
/// clients wait meanwhile.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(50);

/// A reply is written in pieces of this size, each with its own timeout.
const SEND_BYTES: usize = 64 * 1024;

/// A reply up to this size is always sent, however much is unread.
const SHORT_REPLY_BYTES: usize = 1024 * 1024;

/// Waits until the replies made before the shutdown are written.
pub async fn drain_replies(connections: &Connections) {
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    while connections.pending.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Counts a request as pending until it is dropped.
pub(super) struct PendingGuard<'a>(&'a Traffic);

impl<'a> PendingGuard<'a> {
    pub(super) fn new(traffic: &'a Traffic) -> Self {
        traffic.pending.fetch_add(1, Ordering::Relaxed);
        Self(traffic)
    }
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts connections and serves each in its own task.
pub async fn accept(
    listener: UnixListener,
    jobs: mpsc::Sender<Job>,
    connections: Connections,
    read_command: ReadCommand,
) {
    let mut spare = SpareDescriptor::open();
    loop {
        let accepted = listener.accept().await;
        let is_exhausted = accepted.as_ref().is_err_and(file_limit::is_exhausted);
        let (accepted, refused) = if is_exhausted && spare.release() {
            let accepted = tokio::time::timeout(ACCEPT_RETRY, listener.accept()).await;
            (accepted.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())), true)
        } else {
            (accepted, false)
        };
        match accepted {
            Ok((stream, _)) => {
                let (jobs, connections) = (jobs.clone(), connections.clone());
                tokio::spawn(async move {
                    let open = connections.open.fetch_add(1, Ordering::Relaxed);
                    // The client sees the closed connection, so errors need no report.
                    if refused {
                        let answer = serve_client(stream, jobs, MAX_CONNECTIONS, &connections, read_command);
                        let _ = tokio::time::timeout(REFUSAL_TIMEOUT, answer).await;
                    } else {
                        let _ = serve_client(stream, jobs, open, &connections, read_command).await;
                    }
                    connections.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            // Connected clients will free descriptors.
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
        spare.refill();
    }
}

/// Serves one client, if it is the same user, until it disconnects.
async fn serve_client(
    stream: UnixStream,
    jobs: mpsc::Sender<Job>,
    open: usize,
    traffic: &Traffic,
    read_command: ReadCommand,
) -> std::io::Result<()> {
    let ours = rustix::process::getuid().as_raw();
    if stream.peer_cred()?.uid() != ours {
        return Ok(());
    }
    let (read, mut write) = stream.into_split();
    let mut reader = BufReader::new(read);
    let mut handed_out = Vec::new();
    loop {
        let frame = match frame(&mut reader).await {
            Ok(frame) => frame,
            Err(error) => {
                // The client disconnected without reading our reply.
                if error.kind() == std::io::ErrorKind::ConnectionReset {
                    traffic.report_lost(handed_out);
                }
                return Err(error);
            }
        };
        let _pending = PendingGuard::new(traffic);
        let reply = match frame {
            Frame::End => return Ok(()),
            Frame::Line(_) if open >= MAX_CONNECTIONS => busy("too many connections"),
            Frame::Line(line) => ask(&line, &jobs, &mut reader, read_command).await,
            Frame::TooLong => {
                let failure =
                    Failure::new(Code::TooLarge, format!("a frame is longer than {MAX_FRAME_BYTES} bytes"));
                send(&mut write, Outgoing::line(failure), traffic, SEND_TIMEOUT).await?;
                return Ok(());
            }
            Frame::TooSlow => {
                let failure = Failure::new(Code::Timeout, "the rest of the frame did not come in time");
                send(&mut write, Outgoing::line(failure), traffic, SEND_TIMEOUT).await?;
                return Ok(());
            }
        };
        let Some(mut outgoing) = reply else { return Ok(()) };
        handed_out = std::mem::take(&mut outgoing.reply.handed_out);
        if let Err(error) = send(&mut write, outgoing, traffic, SEND_TIMEOUT).await {
            traffic.report_lost(handed_out);
            return Err(error);
        }
    }
}

/// Sends a request to the engine and waits for its reply. Returns `None` if the daemon is exiting: the
/// connection is closed and the client asks the next daemon.
async fn ask(
    line: &[u8],
    jobs: &mpsc::Sender<Job>,
    reader: &mut BufReader<OwnedReadHalf>,
    read_command: ReadCommand,
) -> Option<Outgoing> {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            let failure = Failure::new(Code::InvalidRequest, format!("not a request: {error}"));
            return Some(Outgoing::line(failure));
        }
    };
    let (format, with_body) = (request.output.format, expects_body(&request.client));
    let request = match read_command(request) {
        Ok(request) => request,
        Err(failure) => return Some(Outgoing::line(failure)),
    };
    let waits = matches!(request.call, Call::Wait { .. });
    let (reply, mut answer) = oneshot::channel();
    let reply = match jobs.try_send(Job { request, reply }) {
        Ok(()) if waits => tokio::select! {
            biased;
            answer = &mut answer => answer.ok(),
            // A reply made just before the client disconnected is still sent, which then fails and releases
            // its claims.
            () = client_disconnected(reader) => {
                answer.close();
                answer.try_recv().ok()
            }
        },
        Ok(()) => answer.await.ok(),
        Err(mpsc::error::TrySendError::Full(_)) => {
            Some(render::failure_reply(Failure::new(Code::Busy, "too many requests are waiting"), format))
        }
        Err(mpsc::error::TrySendError::Closed(_)) => None,
    }?;
    Some(Outgoing { reply, with_body })
}

/// Returns when the client has disconnected. A client that is gone must not be given work.
async fn client_disconnected(reader: &mut BufReader<OwnedReadHalf>) {
    match reader.fill_buf().await {
        Ok([]) | Err(_) => {}
        // The client has sent its next request, so it is still there.
        Ok(_) => std::future::pending().await,
    }
}

fn busy(reason: &str) -> Option<Outgoing> {
    Some(Outgoing::line(Failure::new(Code::Busy, reason)))
}

/// A reply and its encoding.
struct Outgoing {
    reply: Reply,
    with_body: bool,
}

impl Outgoing {
    /// Returns a failure that every client can parse.
    fn line(failure: Failure) -> Self {
        Self { reply: render::failure_reply(failure, Format::Value), with_body: false }
    }
}

/// Writes a reply as fast as the client reads it. Fails if the client reads nothing for `patience`. Unread
/// replies stay in memory, so a long reply that would exceed the limit is replaced by `busy`.
async fn send(
    write: &mut (impl AsyncWrite + Unpin),
    outgoing: Outgoing,
    traffic: &Traffic,
    patience: Duration,
) -> std::io::Result<()> {
    let with_body = outgoing.with_body;
    let (mut line, mut body) = encode(outgoing.reply, with_body)?;
    let mut unread = Unread::new(traffic, line.len() + body.len());
    if unread.exceeds_limit() {
        drop(unread);
        let failure =
            Failure::new(Code::Busy, "too many long answers are unread; read them first, or ask for less");
        (line, body) = encode(render::failure_reply(failure, Format::Value), with_body)?;
        unread = Unread::new(traffic, line.len());
    }
    for piece in line.chunks(SEND_BYTES).chain(body.chunks(SEND_BYTES)) {
        let written = tokio::time::timeout(patience, write.write_all(piece)).await;
        written.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))?;
    }
    drop(unread);
    Ok(())
}

/// Counts the bytes of a reply while it is being written.
struct Unread<'a> {
    traffic: &'a Traffic,
    bytes: usize,
    before: usize,
}

impl<'a> Unread<'a> {
    fn new(traffic: &'a Traffic, bytes: usize) -> Self {
        let before = traffic.unread.fetch_add(bytes, Ordering::Relaxed);
        Self { traffic, bytes, before }
    }

    /// Returns whether the reply is too large to be sent now. A short one never is, nor is any reply while no
    /// other is unread.
    fn exceeds_limit(&self) -> bool {
        self.bytes > SHORT_REPLY_BYTES && self.before > 0 && self.before + self.bytes > MAX_UNREAD_BYTES
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        self.traffic.unread.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// One line from a client.
enum Frame {
    Line(Vec<u8>),
    End,
    TooLong,
    TooSlow,
}

/// Reads the next line. Waits any time for it to begin, and up to [`FRAME_TIMEOUT`] for its end.
async fn frame(reader: &mut BufReader<OwnedReadHalf>) -> std::io::Result<Frame> {
    if reader.fill_buf().await?.is_empty() {
        return Ok(Frame::End);
    }
    let mut line = Vec::new();
    let mut bounded = reader.take(MAX_FRAME_BYTES as u64 + 1);
    let Ok(read) = tokio::time::timeout(FRAME_TIMEOUT, bounded.read_until(b'\n', &mut line)).await else {
        return Ok(Frame::TooSlow);
    };
    read?;
    Ok(match line.pop() {
        Some(b'\n') => Frame::Line(line),
        _ if line.len() >= MAX_FRAME_BYTES => Frame::TooLong,
        // The client disconnected in the middle of a line, so there is no request.
        _ => Frame::End,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(bytes: usize) -> Outgoing {
        let reply = Reply { stdout: "x".repeat(bytes), ..Reply::default() };
        Outgoing { reply, with_body: true }
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn a_client_that_does_not_read_is_disconnected() {
        run(async {
            let traffic = Traffic::new(mpsc::unbounded_channel().0);
            let (mut ours, _theirs) = tokio::io::duplex(10);
            let sent = send(&mut ours, outgoing(1000), &traffic, Duration::from_millis(1)).await;
            assert_eq!(sent.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
            assert_eq!(traffic.unread.load(Ordering::Relaxed), 0, "the reply is dropped");
        });
    }

    #[test]
    fn unread_long_replies_do_not_pile_up() {
        run(async {
            let traffic = Traffic::new(mpsc::unbounded_channel().0);
            let _unread = Unread::new(&traffic, MAX_UNREAD_BYTES);
            for (bytes, expected) in [(SHORT_REPLY_BYTES / 2, 0), (2 * SHORT_REPLY_BYTES, 1)] {
                let (mut ours, mut theirs) = tokio::io::duplex(4 * SHORT_REPLY_BYTES);
                send(&mut ours, outgoing(bytes), &traffic, Duration::from_secs(60)).await.unwrap();
                drop(ours);
                let mut received = String::new();
                theirs.read_to_string(&mut received).await.unwrap();
                assert_eq!(received.matches("too many long answers").count(), expected);
            }
        });
    }
}
