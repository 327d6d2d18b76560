//! Requests as files, for clients that cannot use the daemon's socket: sandboxes deny sockets, or hide the directory that
//! the socket is in. The same frames travel through `<store>/requests/`.
//!
//! A request is written beside its place, locked by its client and renamed to `<id>.request`. The daemon takes it by renaming it
//! to `<id>.taken`, and the client withdraws it by unlinking it, so exactly one of the two happens. A request whose client
//! does not hold the lock any more, or whose deadline has passed, is never run. The answer is `<id>.reply`.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use beads_store::{Holder, StoreLock};
use serde::{Deserialize, Serialize};

use crate::conversation::{Exchange, are_sockets_denied, work_of};
use crate::daemon::MAX_FRAME_BYTES;
use crate::hangup::Hangup;
use crate::place::Place;
use crate::request::{Reply, Request};
use crate::wire;

/// How often a client looks for its reply, and whether the daemon is still there.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
const LOOK_AT_LOCK: Duration = Duration::from_millis(100);

/// A daemon that holds the store and was not reached by its socket for so long is asked through files.
const UNREACHED: Duration = Duration::from_millis(500);

/// When to ask the daemon through files: at once where sockets are denied, else when it holds the store and cannot be
/// reached for a while. One that starts or leaves is given that time.
#[derive(Debug)]
pub struct FileRequests {
    since: Instant,
    pub sockets_denied: bool,
}

impl FileRequests {
    pub fn new() -> Self {
        Self { since: Instant::now(), sockets_denied: are_sockets_denied() }
    }

    pub fn are_due(&self) -> bool {
        self.sockets_denied || self.since.elapsed() > UNREACHED
    }
}

/// The first line of a request; the frame follows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head {
    /// By the wall clock: client and daemon are on one machine.
    pub deadline_ms: u64,
}

/// The directory of a store's requests.
pub fn directory(store_dir: &Path) -> PathBuf {
    store_dir.join("requests")
}

/// Refuses a directory that another user made, can write to, or put a link in place of (§13.3).
pub fn is_safe(directory: &Path) -> bool {
    let ours = rustix::process::getuid().as_raw();
    std::fs::symlink_metadata(directory).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == ours && metadata.permissions().mode() & 0o077 == 0
    })
}

/// Opens a file of the directory that must be regular and ours. What is at the path is looked at once it is open.
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.is_file() && metadata.uid() == rustix::process::getuid().as_raw();
    if is_ours { Ok(file) } else { Err(beads_store::not_regular()) }
}

/// Whether the client of a request holds its lock, and so waits for the answer.
pub fn is_waited_for(request: &File) -> bool {
    match request.try_lock_shared() {
        Err(TryLockError::WouldBlock) => true,
        Ok(()) => {
            let _ = request.unlock();
            false
        }
        Err(TryLockError::Error(_)) => false,
    }
}

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A request of this process that lies in the directory. Removed when it is dropped.
struct Posted {
    /// Keeps the lock.
    _file: File,
    request: PathBuf,
    taken: PathBuf,
    reply: PathBuf,
}

impl Posted {
    fn new(directory: &Path, frame: &[u8], deadline_ms: u64) -> io::Result<Self> {
        let id = format!("{:016x}{:016x}", getrandom::u64().unwrap_or_default(), std::process::id());
        let path = |ending: &str| directory.join(format!("{id}.{ending}"));
        let written = path("tmp");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&written)?;
        let mut post = || -> io::Result<()> {
            file.try_lock().map_err(|_| io::Error::other("it is locked"))?;
            let mut bytes = serde_json::to_vec(&Head { deadline_ms })?;
            bytes.push(b'\n');
            bytes.extend_from_slice(frame);
            file.write_all(&bytes)?;
            std::fs::rename(&written, path("request"))
        };
        let posted = post();
        if posted.is_err() {
            let _ = std::fs::remove_file(&written);
        }
        posted?;
        Ok(Self { _file: file, request: path("request"), taken: path("taken"), reply: path("reply") })
    }

    /// Takes the request back; false when the daemon has it.
    fn withdraw(&self) -> bool {
        std::fs::remove_file(&self.request).is_ok()
    }

    fn reply(&self) -> Option<Reply> {
        let mut file = open_own(&self.reply).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        wire::decode(&bytes)
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.request);
        let _ = std::fs::remove_file(&self.reply);
    }
}

/// Asks the daemon of a store through files. `Nobody` when none has the store, or nothing can be written there.
pub fn exchange(place: &Place, request: &Request, patience: Duration, hangup: Option<&Hangup>) -> Exchange {
    let lock = place.lock_path();
    // A command that does its own work answers nobody.
    let is_served =
        || StoreLock::is_taken(&lock) && Holder::read(&lock).is_some_and(|holder| holder.socket.is_some());
    let directory = directory(&place.store_dir());
    if !is_served() {
        return Exchange::Nobody;
    }
    let _ = DirBuilder::new().mode(0o700).create(&directory);
    let Ok(mut frame) = serde_json::to_vec(request) else { return Exchange::Lost };
    if !is_safe(&directory) || frame.len() > MAX_FRAME_BYTES {
        return Exchange::Nobody;
    }
    frame.push(b'\n');
    let time = patience + request.call.wait() + work_of(&request.call);
    let deadline = Instant::now() + time;
    let deadline_ms = now_ms().saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let Ok(posted) = Posted::new(&directory, &frame, deadline_ms) else { return Exchange::Nobody };
    let (mut pause, mut looked) = (SHORTEST_PAUSE, Instant::now());
    loop {
        if let Some(reply) = posted.reply() {
            return Exchange::Reply(Box::new(reply));
        }
        if hangup.is_some_and(Hangup::is_hung_up) {
            posted.withdraw();
            return Exchange::Lost;
        }
        if Instant::now() >= deadline {
            posted.withdraw();
            return Exchange::Silent;
        }
        if looked.elapsed() >= LOOK_AT_LOCK {
            looked = Instant::now();
            if !StoreLock::is_taken(&lock) {
                return if posted.withdraw() { Exchange::Nobody } else { last_look(&posted) };
            }
            // Taken by a daemon that is gone, and whose successor cleared it away.
            if !posted.request.exists() && !posted.taken.exists() {
                return last_look(&posted);
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The daemon is gone; its answer may have come just before.
fn last_look(posted: &Posted) -> Exchange {
    posted.reply().map_or(Exchange::Lost, |reply| Exchange::Reply(Box::new(reply)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_or_withdrawn_and_its_lock_tells_whether_it_is_waited_for() {
        let store = tempfile::tempdir().unwrap();
        let directory = directory(store.path());
        DirBuilder::new().mode(0o700).create(&directory).unwrap();
        assert!(is_safe(&directory));
        let posted = Posted::new(&directory, b"{}\n", 7).unwrap();
        assert!(is_waited_for(&open_own(&posted.request).unwrap()));
        assert!(posted.withdraw() && !posted.withdraw());
        let posted = Posted::new(&directory, b"{}\n", 7).unwrap();
        std::fs::rename(&posted.request, &posted.taken).unwrap();
        assert!(!posted.withdraw(), "the daemon has it");
        let file = open_own(&posted.taken).unwrap();
        drop(posted);
        assert!(!is_waited_for(&file));
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!is_safe(&directory));
        let link = store.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(!is_safe(&link) && open_own(&link).is_err());
    }
}
