//! Asks a daemon through files, for clients that cannot use its socket: sandboxes may deny sockets or hide
//! the directory of the socket. See [`crate::request_directory`].

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use beads_store::{Holder, RealWorld, Replacement, StoreLock, World, try_lock};

use crate::cancel::CancelToken;
use crate::conversation::{Exchange, are_sockets_denied, extra_time};
use crate::daemon::MAX_FRAME_BYTES;
use crate::place::Place;
use crate::request::{Reply, Request};
use crate::request_directory::{Head, directory, is_safe, open_own};
use crate::wire;

/// The first pause between two checks for the reply.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause between two checks for the reply.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// How often a client checks that the daemon still exists.
const LOOK_AT_LOCK: Duration = Duration::from_millis(100);

/// How long a client tries the socket before it uses files.
const UNREACHED: Duration = Duration::from_millis(500);

/// Decides when to ask the daemon through files: immediately where sockets are denied, otherwise after the
/// daemon has been unreachable for a while. It may be starting or stopping.
#[derive(Debug)]
pub struct FileRequests {
    since: Instant,
    /// Whether this process cannot use sockets.
    pub sockets_denied: bool,
}

impl FileRequests {
    /// Starts the clock, and checks whether sockets are denied.
    pub fn new() -> Self {
        Self { since: Instant::now(), sockets_denied: are_sockets_denied() }
    }

    /// Returns whether to ask through files now.
    pub fn are_due(&self) -> bool {
        self.sockets_denied || self.since.elapsed() > UNREACHED
    }
}

/// A request of this process in the directory. Removed on drop.
struct PendingRequest {
    /// Holds the lock.
    _file: File,
    request: PathBuf,
    taken: PathBuf,
    reply: PathBuf,
}

impl PendingRequest {
    fn new(directory: &Path, frame: &[u8], deadline_ms: u64) -> io::Result<Self> {
        let id = format!("{:016x}{:016x}", beads_store::random_u64().unwrap_or_default(), std::process::id());
        let path = |ending: &str| directory.join(format!("{id}.{ending}"));
        let mut next = Replacement::private(&path("request"), path("tmp"))?;
        if !try_lock(next.file())? {
            return Err(io::Error::other("the request file is already locked"));
        }
        let mut bytes = serde_json::to_vec(&Head { deadline_ms })?;
        bytes.push(b'\n');
        bytes.extend_from_slice(frame);
        next.write_all(&bytes)?;
        let file = next.publish()?;
        Ok(Self { _file: file, request: path("request"), taken: path("taken"), reply: path("reply") })
    }

    /// Withdraws the request. Returns false when the daemon has already taken it.
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

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.request);
        let _ = std::fs::remove_file(&self.reply);
    }
}

/// Asks the daemon of a store through files. Returns `NotListening` when there is no daemon, or when the
/// request cannot be written.
pub fn exchange(
    place: &Place,
    request: &Request,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Exchange {
    let lock = place.lock_path();
    // A command that opened the store itself does not serve requests.
    let is_served =
        || StoreLock::is_taken(&lock) && Holder::read(&lock).is_some_and(|holder| holder.socket.is_some());
    let directory = directory(&place.store_dir());
    if !is_served() {
        return Exchange::NotListening;
    }
    let _ = DirBuilder::new().mode(0o700).create(&directory);
    let Ok(mut frame) = serde_json::to_vec(request) else { return Exchange::Disconnected };
    if !is_safe(&directory) || frame.len() > MAX_FRAME_BYTES {
        return Exchange::NotListening;
    }
    frame.push(b'\n');
    let time = patience + request.call.wait() + extra_time(&request.call);
    let deadline = Instant::now() + time;
    let deadline_ms = RealWorld.now_ms().saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let Ok(pending) = PendingRequest::new(&directory, &frame, deadline_ms) else {
        return Exchange::NotListening;
    };
    let (mut pause, mut looked) = (SHORTEST_PAUSE, Instant::now());
    loop {
        if let Some(reply) = pending.reply() {
            return Exchange::Reply(Box::new(reply));
        }
        if cancel.is_some_and(CancelToken::is_cancelled) {
            pending.withdraw();
            return Exchange::Disconnected;
        }
        if Instant::now() >= deadline {
            pending.withdraw();
            return Exchange::TimedOut;
        }
        if looked.elapsed() >= LOOK_AT_LOCK {
            looked = Instant::now();
            if !StoreLock::is_taken(&lock) {
                return if pending.withdraw() { Exchange::NotListening } else { read_last_reply(&pending) };
            }
            // A daemon took it and exited, and its successor removed it.
            if !pending.request.exists() && !pending.taken.exists() {
                return read_last_reply(&pending);
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Checks for a reply that a daemon wrote just before it exited.
fn read_last_reply(pending: &PendingRequest) -> Exchange {
    pending.reply().map_or(Exchange::Disconnected, |reply| Exchange::Reply(Box::new(reply)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::request_directory::is_waited_for;

    #[test]
    fn a_request_is_taken_or_withdrawn_and_its_lock_shows_that_its_client_waits() {
        let store = tempfile::tempdir().unwrap();
        let directory = directory(store.path());
        DirBuilder::new().mode(0o700).create(&directory).unwrap();
        assert!(is_safe(&directory));
        let pending = PendingRequest::new(&directory, b"{}\n", 7).unwrap();
        assert!(is_waited_for(&open_own(&pending.request).unwrap()));
        assert!(pending.withdraw() && !pending.withdraw());
        let pending = PendingRequest::new(&directory, b"{}\n", 7).unwrap();
        std::fs::rename(&pending.request, &pending.taken).unwrap();
        assert!(!pending.withdraw(), "the daemon has it");
        let file = open_own(&pending.taken).unwrap();
        drop(pending);
        assert!(!is_waited_for(&file));
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!is_safe(&directory));
        let link = store.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(!is_safe(&link) && open_own(&link).is_err());
    }
}
