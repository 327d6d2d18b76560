//! Requests that come as files (see [`crate::request_directory`]).

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use beads_store::{RealWorld, Replacement, World};
use tokio::sync::{mpsc, oneshot};

use super::connection::{Connections, Job, Owed};
use super::{MAX_FRAME_BYTES, ReadCommand};
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Call, Format, Reply, Request};
use crate::request_directory::{Head, directory, is_safe, is_waited_for, open_own};
use crate::wire::{encode, takes_body};

/// How many requests are taken at a time; the others wait in the directory.
const AT_ONCE: usize = 256;

/// Where nothing tells of new files, the directory is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often it is looked whether a client that waits is still there.
const LOOK_AT_CLIENT: Duration = Duration::from_millis(500);

/// Files older than this belong to clients that are gone.
const LEFT_OVER: Duration = Duration::from_secs(60 * 60);

/// Serves the directory until the daemon leaves.
pub async fn serve(
    store_dir: PathBuf,
    jobs: mpsc::Sender<Job>,
    connections: Connections,
    read_command: ReadCommand,
) {
    let directory = directory(&store_dir);
    clear(&directory);
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

/// Removes what an earlier daemon took and did not answer, which must not run again, and what is left over.
fn clear(directory: &Path) {
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

/// Takes the requests that are there, each by a rename that only one can win.
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

/// Answers one request, unless nobody waits for it.
async fn answer(
    taken: &Path,
    jobs: &mpsc::Sender<Job>,
    connections: &Connections,
    read_command: ReadCommand,
) {
    let _owed = Owed::new(connections);
    let Some((file, line)) = read(taken) else { return };
    let (with_body, reply) = match serde_json::from_slice::<Request>(&line) {
        Err(error) => {
            let failure = Failure::new(Code::InvalidRequest, format!("not a request: {error}"));
            (false, Some(render::failure_reply(failure, Format::Value)))
        }
        Ok(request) => {
            let with_body = takes_body(&request.client);
            match read_command(request) {
                Ok(request) => (with_body, ask(request, jobs, &file).await),
                Err(failure) => (false, Some(render::failure_reply(failure, Format::Value))),
            }
        }
    };
    let Some(mut reply) = reply else { return };
    let handed_out = std::mem::take(&mut reply.handed_out);
    let delivered = is_waited_for(&file) && put(taken, reply, with_body).is_ok();
    if !delivered {
        connections.lost(handed_out);
    }
}

/// The frame of a request that may run: its client waits, and its deadline has not passed.
fn read(taken: &Path) -> Option<(File, Vec<u8>)> {
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

/// `None` when the daemon leaves, or the client is gone.
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

/// Writes the reply beside its place and renames it.
fn put(taken: &Path, reply: Reply, with_body: bool) -> std::io::Result<()> {
    let (line, body) = encode(reply, with_body)?;
    let mut next = Replacement::private(&taken.with_extension("reply"), taken.with_extension("answer"))?;
    next.write_all(&line).and_then(|()| next.write_all(&body))?;
    next.publish().map(drop)
}

/// Tells when something may have come, from a thread that waits for the kernel or, where that is not possible, for a while.
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
    /// The watch on the directory of requests.
    inside: Option<i32>,
}

#[cfg(target_os = "linux")]
impl Watch {
    fn new() -> Self {
        let inotify = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).ok();
        Self { inotify, inside: None }
    }

    /// The directory of requests is made by the first client that needs it, so the one around it is watched, too.
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
            // What came before it was watched makes no event: look once more.
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
