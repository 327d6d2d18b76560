//! Asks a daemon through files, for clients that cannot use its socket: sandboxes deny sockets, or hide the directory that
//! the socket is in. See [`crate::request_directory`].

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use beads_store::{Holder, RealWorld, Replacement, StoreLock, World, try_lock};

use crate::conversation::{Exchange, are_sockets_denied, work_of};
use crate::daemon::MAX_FRAME_BYTES;
use crate::hangup::Hangup;
use crate::place::Place;
use crate::request::{Reply, Request};
use crate::request_directory::{Head, directory, is_safe, open_own};
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
        let mut next = Replacement::private(&path("request"), path("tmp"))?;
        if !try_lock(next.file())? {
            return Err(io::Error::other("it is locked"));
        }
        let mut bytes = serde_json::to_vec(&Head { deadline_ms })?;
        bytes.push(b'\n');
        bytes.extend_from_slice(frame);
        next.write_all(&bytes)?;
        let file = next.publish()?;
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
    let deadline_ms = RealWorld.now_ms().saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::request_directory::is_waited_for;

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
