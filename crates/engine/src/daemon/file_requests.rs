//! Serves requests that clients without sockets write as files (see [`crate::request_directory`]).

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use beads_store::{RealWorld, Replacement, World};
use tokio::sync::{mpsc, oneshot};

use super::connection::{Connections, Job, PendingGuard};
use super::{MAX_FRAME_BYTES, ReadCommand};
use crate::config;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Call, Format, Reply, Request};
use crate::request_directory::{Head, directory, is_safe, is_waited_for, open_own};
use crate::wire::{encode, expects_body};

/// The maximum number of requests taken at a time; the others stay in the directory.
const AT_ONCE: usize = 256;

/// How often the directory is polled if there are no notifications about new files.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often to check whether a waiting client is still there.
const LOOK_AT_CLIENT: Duration = Duration::from_millis(500);

/// Older files belong to clients that are gone.
const LEFT_OVER: Duration = Duration::from_secs(60 * 60);

/// Serves the request directory until the daemon exits.
pub async fn serve(
    store_dir: PathBuf,
    jobs: mpsc::Sender<Job>,
    connections: Connections,
    read_command: ReadCommand,
) {
    let directory = directory(&store_dir);
    remove_stale(&directory);
    let mut changes = watch(store_dir);
    loop {
        for taken in take_all(&directory) {
            let (jobs, connections) = (jobs.clone(), connections.clone());
            tokio::spawn(async move {
                connections.open.fetch_add(1, Ordering::Relaxed);
                answer(&taken, &jobs, &connections, read_command).await;
                let _ = std::fs::remove_file(&taken);
                connections.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
        if changes.recv().await.is_none() {
            return;
        }
    }
}

/// Removes requests that an earlier daemon took but did not answer, which must not run again, and stale
/// files.
fn remove_stale(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_taken = path.extension().is_some_and(|ending| ending == "taken");
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = age.and_then(|time| SystemTime::now().duration_since(time).ok());
        if is_taken || age.is_some_and(|age| age > LEFT_OVER) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Takes the requests in the directory, each by a rename that only one process can win.
fn take_all(directory: &Path) -> Vec<PathBuf> {
    if !is_safe(directory) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let requests = entries.map(|entry| entry.path());
    let requests = requests.filter(|path| path.extension().is_some_and(|ending| ending == "request"));
    let take = |path: PathBuf| {
        let taken = path.with_extension("taken");
        std::fs::rename(&path, &taken).is_ok().then_some(taken)
    };
    requests.take(AT_ONCE).filter_map(take).collect()
}

/// Answers one request, unless its client is gone.
async fn answer(
    taken: &Path,
    jobs: &mpsc::Sender<Job>,
    connections: &Connections,
    read_command: ReadCommand,
) {
    let _pending = PendingGuard::new(connections);
    let Some((file, line)) = read_request(taken) else { return };
    let (with_body, reply) = match serde_json::from_slice::<Request>(&line) {
        Err(error) => {
            let failure = Failure::new(Code::InvalidRequest, format!("not a request: {error}"));
            (false, Some(render::failure_reply(failure, Format::Value)))
        }
        Ok(request) => {
            let with_body = expects_body(&request.client);
            match read_command(request) {
                Ok(request) => match check_reach(&request.call) {
                    Ok(()) => (with_body, ask(request, jobs, &file).await),
                    Err(failure) => (with_body, Some(render::failure_reply(failure, request.output.format))),
                },
                Err(failure) => (false, Some(render::failure_reply(failure, Format::Value))),
            }
        }
    };
    let Some(mut reply) = reply else { return };
    let handed_out = std::mem::take(&mut reply.handed_out);
    let delivered = is_waited_for(&file) && write_reply(taken, reply, with_body).is_ok();
    if !delivered {
        connections.report_lost(handed_out);
    }
}

/// Refuses to change settings that would let a process leave its sandbox. Requests come as files from those that may not
/// use sockets.
fn check_reach(call: &Call) -> Result<(), Failure> {
    match call {
        Call::ConfigSet { key, .. } | Call::ConfigUnset { key } if config::reaches_outside(key) => {
            let message = format!(
                "{key} names a program, a file or an address, so it cannot be changed from a sandbox; the setting is \
                 unchanged; run bd config outside the sandbox"
            );
            Err(Failure::new(Code::PermissionDenied, message))
        }
        Call::Wait { call, .. } | Call::Confirm { call } => check_reach(call),
        _ => Ok(()),
    }
}

/// Reads a request. Returns `None` unless its client still waits and its deadline has not passed.
fn read_request(taken: &Path) -> Option<(File, Vec<u8>)> {
    let file = open_own(taken).ok()?;
    if !is_waited_for(&file) || file.metadata().ok()?.len() > 2 * MAX_FRAME_BYTES as u64 {
        return None;
    }
    let mut reader = BufReader::new(&file);
    let mut head = Vec::new();
    (&mut reader).take(1_000).read_until(b'\n', &mut head).ok()?;
    let head: Head = serde_json::from_slice(&head).ok()?;
    let mut line = Vec::new();
    reader.read_to_end(&mut line).ok()?;
    (head.deadline_ms >= RealWorld.now_ms() && line.pop() == Some(b'\n')).then_some((file, line))
}

/// Sends a request to the engine and waits for its reply. Returns `None` if the daemon exits or the client is
/// gone.
async fn ask(request: Request, jobs: &mpsc::Sender<Job>, file: &File) -> Option<Reply> {
    let format = request.output.format;
    let waits = matches!(request.call, Call::Wait { .. });
    let (reply, mut answer) = oneshot::channel();
    match jobs.try_send(Job { request, reply }) {
        Ok(()) => {}
        Err(mpsc::error::TrySendError::Full(_)) => {
            let failure = Failure::new(Code::Busy, "too many requests are waiting");
            return Some(render::failure_reply(failure, format));
        }
        Err(mpsc::error::TrySendError::Closed(_)) => return None,
    }
    loop {
        tokio::select! {
            biased;
            answered = &mut answer => return answered.ok(),
            () = tokio::time::sleep(LOOK_AT_CLIENT), if waits => {
                if !is_waited_for(file) {
                    answer.close();
                    return answer.try_recv().ok();
                }
            }
        }
    }
}

/// Writes the reply to a temporary file and renames it into place.
fn write_reply(taken: &Path, reply: Reply, with_body: bool) -> std::io::Result<()> {
    let (line, body) = encode(reply, with_body)?;
    let mut next = Replacement::private(&taken.with_extension("reply"), taken.with_extension("answer"))?;
    next.write_all(&line).and_then(|()| next.write_all(&body))?;
    next.publish().map(drop)
}

/// Signals that there may be new requests, from a thread that waits for file notifications or, without those,
/// polls.
fn watch(store_dir: PathBuf) -> mpsc::UnboundedReceiver<()> {
    let (send, changes) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut watch = Watch::new();
        while send.send(()).is_ok() {
            watch.wait(&store_dir);
        }
    });
    changes
}

#[cfg(target_os = "linux")]
struct Watch {
    inotify: Option<std::os::fd::OwnedFd>,
    /// The watch on the request directory.
    inside: Option<i32>,
}

#[cfg(target_os = "linux")]
impl Watch {
    fn new() -> Self {
        let inotify = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).ok();
        Self { inotify, inside: None }
    }

    /// Waits for a new request. The first client creates the request directory, so its parent is watched,
    /// too.
    fn wait(&mut self, store_dir: &Path) {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        let Some(inotify) = &self.inotify else { return std::thread::sleep(LOOK_EVERY) };
        let around = add_watch(inotify, store_dir, WatchFlags::CREATE | WatchFlags::ONLYDIR);
        let inside = add_watch(inotify, directory(store_dir), WatchFlags::MOVED_TO | WatchFlags::ONLYDIR);
        if around.is_err() && inside.is_err() {
            return std::thread::sleep(LOOK_EVERY);
        }
        let is_new = inside.ok() != self.inside;
        self.inside = inside.ok();
        if is_new && self.inside.is_some() {
            // Files created before the watch cause no event, so check once more.
            return;
        }
        let _ = rustix::io::read(inotify, &mut [0_u8; 4096]);
    }
}

#[cfg(not(target_os = "linux"))]
struct Watch;

#[cfg(not(target_os = "linux"))]
impl Watch {
    fn new() -> Self {
        Self
    }

    fn wait(&mut self, _: &Path) {
        std::thread::sleep(LOOK_EVERY);
    }
}
