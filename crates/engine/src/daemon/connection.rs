//! One task per client: a line in, a line out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use super::room::{self, Spare};
use super::{FRAME_TIMEOUT, MAX_CONNECTIONS, MAX_FRAME_BYTES, MAX_UNREAD_BYTES, ReadCommand, SEND_TIMEOUT};
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Call, Format, HandedOut, Reply, Request};
use crate::wire::{encode, takes_body};

/// A request on its way to the engine.
#[derive(Debug)]
pub struct Job {
    pub request: Request,
    pub reply: oneshot::Sender<Reply>,
}

/// How busy the daemon is.
#[derive(Debug)]
pub struct Traffic {
    /// Clients that are connected.
    pub open: AtomicUsize,
    /// Requests that were read and whose replies are not written yet.
    owed: AtomicUsize,
    /// The bytes of replies that are being written.
    unread: AtomicUsize,
    /// Where the engine learns of claims that did not reach their callers.
    losses: mpsc::UnboundedSender<Vec<HandedOut>>,
}

impl Traffic {
    pub fn new(losses: mpsc::UnboundedSender<Vec<HandedOut>>) -> Self {
        let [open, owed, unread] = [0; 3].map(AtomicUsize::new);
        Self { open, owed, unread, losses }
    }

    pub(super) fn lost(&self, claims: Vec<HandedOut>) {
        if !claims.is_empty() {
            // An engine that is gone cannot give them back; their leases end.
            let _ = self.losses.send(claims);
        }
    }
}

pub type Connections = Arc<Traffic>;

/// How long a daemon that leaves waits for clients to take their last replies.
const PARTING: Duration = Duration::from_secs(1);

/// The pause after a failed accept.
const RETRY: Duration = Duration::from_millis(10);

/// How long a client that is refused for want of descriptors may take to send its request. Others wait behind it.
const REFUSAL: Duration = Duration::from_millis(50);

/// So much is written before it is looked whether the reader took it.
const SEND_BYTES: usize = 64 * 1024;

/// A reply up to this size is sent whatever else is unread.
const SHORT_REPLY_BYTES: usize = 1024 * 1024;

/// Lets the replies go that were given before the daemon decided to leave.
pub async fn settle(connections: &Connections) {
    let deadline = Instant::now() + PARTING;
    while connections.owed.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Counts a request as long as it lives.
pub(super) struct Owed<'a>(&'a Traffic);

impl<'a> Owed<'a> {
    pub(super) fn new(traffic: &'a Traffic) -> Self {
        traffic.owed.fetch_add(1, Ordering::Relaxed);
        Self(traffic)
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        self.0.owed.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes connections of this user and serves each in a task of its own.
pub async fn accept(
    listener: UnixListener,
    jobs: mpsc::Sender<Job>,
    connections: Connections,
    read_command: ReadCommand,
) {
    let mut spare = Spare::keep();
    loop {
        let accepted = listener.accept().await;
        let is_exhausted = accepted.as_ref().is_err_and(room::is_exhausted);
        let (accepted, refused) = if is_exhausted && spare.release() {
            let accepted = tokio::time::timeout(RETRY, listener.accept()).await;
            (accepted.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())), true)
        } else {
            (accepted, false)
        };
        match accepted {
            Ok((stream, _)) => {
                let (jobs, connections) = (jobs.clone(), connections.clone());
                tokio::spawn(async move {
                    let open = connections.open.fetch_add(1, Ordering::Relaxed);
                    // The client sees the end of the stream; there is nobody to report to.
                    if refused {
                        let answer = converse(stream, jobs, MAX_CONNECTIONS, &connections, read_command);
                        let _ = tokio::time::timeout(REFUSAL, answer).await;
                    } else {
                        let _ = converse(stream, jobs, open, &connections, read_command).await;
                    }
                    connections.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            // Clients that are connected will free descriptors.
            Err(_) => tokio::time::sleep(RETRY).await,
        }
        spare.refill();
    }
}

async fn converse(
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
                // The client closed its end with our reply unread.
                if error.kind() == std::io::ErrorKind::ConnectionReset {
                    traffic.lost(handed_out);
                }
                return Err(error);
            }
        };
        let _owed = Owed::new(traffic);
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
            traffic.lost(handed_out);
            return Err(error);
        }
    }
}

/// `None` when the daemon is leaving: the client sees the end and asks the next one.
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
    let (format, with_body) = (request.output.format, takes_body(&request.client));
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
            // An answer that was given just before the client left is still sent, and found to be undeliverable.
            () = hung_up(reader) => {
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

/// Returns when the client has closed its side. Somebody who waits for work and left must not be given any.
async fn hung_up(reader: &mut BufReader<OwnedReadHalf>) {
    match reader.fill_buf().await {
        Ok([]) | Err(_) => {}
        // The next request is here already, so its sender is too.
        Ok(_) => std::future::pending().await,
    }
}

fn busy(reason: &str) -> Option<Outgoing> {
    Some(Outgoing::line(Failure::new(Code::Busy, reason)))
}

/// A reply, and the form in which its client takes it.
struct Outgoing {
    reply: Reply,
    with_body: bool,
}

impl Outgoing {
    /// A failure that every client can read.
    fn line(failure: Failure) -> Self {
        Self { reply: render::failure_reply(failure, Format::Value), with_body: false }
    }
}

/// Writes a reply, as fast as its reader takes it. A reader that takes nothing for `patience` is given up, and a long reply that
/// would join too many unread ones is replaced by `busy`: replies wait in memory.
async fn send(
    write: &mut (impl AsyncWrite + Unpin),
    outgoing: Outgoing,
    traffic: &Traffic,
    patience: Duration,
) -> std::io::Result<()> {
    let with_body = outgoing.with_body;
    let (mut line, mut body) = encode(outgoing.reply, with_body)?;
    let mut unread = Unread::new(traffic, line.len() + body.len());
    if unread.is_too_much() {
        drop(unread);
        let failure =
            Failure::new(Code::Busy, "too many long answers wait to be read; read them, or ask for less");
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

/// Counts the bytes of a reply for as long as it is being written.
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

    /// A short reply, and a long one while nobody else is behind, is always sent.
    fn is_too_much(&self) -> bool {
        self.bytes > SHORT_REPLY_BYTES && self.before > 0 && self.before + self.bytes > MAX_UNREAD_BYTES
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        self.traffic.unread.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

enum Frame {
    Line(Vec<u8>),
    End,
    TooLong,
    TooSlow,
}

/// Waits for a frame as long as it takes to begin, and then only so long for it to end.
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
        // The client went away in the middle of a line: nothing was asked.
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
    fn a_reader_that_takes_nothing_is_given_up() {
        run(async {
            let traffic = Traffic::new(mpsc::unbounded_channel().0);
            let (mut ours, _theirs) = tokio::io::duplex(10);
            let sent = send(&mut ours, outgoing(1000), &traffic, Duration::from_millis(1)).await;
            assert_eq!(sent.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
            assert_eq!(traffic.unread.load(Ordering::Relaxed), 0, "nothing of it is kept");
        });
    }

    #[test]
    fn long_answers_that_nobody_reads_do_not_pile_up() {
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
