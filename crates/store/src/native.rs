//! The transport that needs no installed program: libgit2.

mod claims;
pub(crate) mod rate_limit;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use git2::{Direction, ErrorCode, FetchOptions, Oid, PushOptions};

use crate::address::Address;
use crate::credentials::callbacks;
use crate::deadline::Deadline;
use crate::git::{GitRepository, delete_conflicting_tracking_ref, is_lost_race, wait_for_ref_lock};
use crate::progress::{SYNC, Step};
use crate::ref_update::compare_and_swap;
use crate::remote::{Pushed, Remote};
use crate::repository::{Branch, CONFLICTING_BRANCH, CommitId};
use crate::url::{local_path, redact};
use crate::vet::{Depth, vet};
use crate::{Error, Result, libgit2, local_remote};

/// A remote reached through libgit2.
#[derive(Debug, Clone)]
pub struct Native {
    git_dir: PathBuf,
    remote: String,
    deadline: Deadline,
    branch: Branch,
}

impl Native {
    /// Returns the remote. The deadline starts now and covers everything done with this value.
    pub fn new(git_dir: &Path, remote: &str, deadline: Duration) -> Self {
        let (git_dir, remote, deadline) = (git_dir.to_owned(), remote.to_owned(), Deadline::new(deadline));
        Self { git_dir, remote, deadline, branch: Branch::Store }
    }

    /// Returns the same remote for the archive.
    fn archive(&self) -> Self {
        Self { branch: Branch::Archive, ..self.clone() }
    }

    /// Runs a step in a separate thread and stops waiting for it at the deadline.
    ///
    /// libgit2 cannot be interrupted. A step that was given up ends when its server does, or after the
    /// timeout in [`crate::libgit2`]. If it still succeeds, it has pushed a commit that is saved here anyway.
    pub(crate) fn within_deadline<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.within_deadline_while(step, &mut || ())
    }

    /// Like [`within_deadline`](Self::within_deadline), but calls `work` while the step runs.
    fn within_deadline_while<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
        work: &mut dyn FnMut(),
    ) -> Result<T> {
        let (send, receive) = mpsc::channel();
        let (git_dir, remote, branch) = (self.git_dir.clone(), self.remote.clone(), self.branch);
        if GIVEN_UP.load(Ordering::Relaxed) >= MAX_GIVEN_UP {
            let reason = format!(
                "{MAX_GIVEN_UP} earlier attempts are still waiting for a server that does not answer"
            );
            return Err(Error::Remote { remote: self.remote.clone(), reason });
        }
        let running = Arc::new(AtomicBool::new(true));
        let end = StepEnd(running.clone());
        std::thread::spawn(move || {
            let _end = end;
            // The receiver is gone if the deadline has passed.
            let connection = Connection::open(&git_dir, &remote, branch);
            let _ = send.send(connection.and_then(|connection| step(&connection)));
        });
        work();
        receive.recv_timeout(self.deadline.remaining()).unwrap_or_else(|error| {
            Err(match error {
                mpsc::RecvTimeoutError::Timeout => {
                    // A step that has just ended no longer counts.
                    GIVEN_UP.fetch_add(1, Ordering::Relaxed);
                    if !running.swap(false, Ordering::AcqRel) {
                        GIVEN_UP.fetch_sub(1, Ordering::Relaxed);
                    }
                    self.deadline.timeout_error(&self.remote)
                }
                mpsc::RecvTimeoutError::Disconnected => {
                    Error::Remote { remote: self.remote.clone(), reason: "the transport failed".to_owned() }
                }
            })
        })
    }
}

/// How many steps that were given up may still be running. Each has a thread and a connection.
const MAX_GIVEN_UP: usize = 4;

static GIVEN_UP: AtomicUsize = AtomicUsize::new(0);

/// Marks the end of a step's thread. The flag is set while the step runs and its caller waits; the second of
/// the two to finish finds it cleared.
struct StepEnd(Arc<AtomicBool>);

impl Drop for StepEnd {
    fn drop(&mut self) {
        if !self.0.swap(false, Ordering::AcqRel) {
            GIVEN_UP.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The repository and the remote, in the thread that talks to the remote.
pub(crate) struct Connection {
    pub(crate) repository: GitRepository,
    remote: String,
    address: Address,
    branch: Branch,
}

impl Connection {
    fn open(git_dir: &Path, remote: &str, branch: Branch) -> Result<Self> {
        let repository = GitRepository::open(git_dir)?;
        let address = Address::of(&repository.git, remote)?;
        Ok(Self { repository, remote: remote.to_owned(), address, branch })
    }

    fn failed(&self, error: &git2::Error) -> Error {
        let (remote, reason) = (self.remote.clone(), redact(error.message()));
        match rate_limit::take_retry_after() {
            Some(retry_after) => Error::RateLimited { remote, reason, retry_after },
            None => Error::Remote { remote, reason },
        }
    }

    fn tracking_ref(&self) -> String {
        self.branch.tracking_ref(&self.remote)
    }

    /// Returns the remote without its configured refspecs: we fetch into our tracking ref only.
    fn anonymous(&self, direction: Direction) -> Result<git2::Remote<'_>, git2::Error> {
        let url = if direction == Direction::Push { &self.address.push } else { &self.address.fetch };
        self.repository.git.remote_anonymous(url)
    }

    /// Returns the URL after `url.*.insteadOf`.
    pub(crate) fn url(&self, direction: Direction) -> Result<String, git2::Error> {
        let remote = self.anonymous(direction)?;
        let push_url = remote.pushurl().ok().flatten().filter(|_| direction == Direction::Push);
        Ok(push_url.or(remote.url().ok()).unwrap_or_default().to_owned())
    }

    /// Returns the remote's repository if it is on this machine.
    pub(crate) fn local_repository(&self, direction: Direction) -> Result<Option<GitRepository>> {
        let url = self.url(direction).map_err(|error| self.failed(&error))?;
        let Some(path) = local_path(&url) else { return Ok(None) };
        let path: PathBuf = self.address.base.join(path);
        GitRepository::open(&path).map(Some).map_err(|error| Error::Remote {
            remote: self.remote.clone(),
            reason: redact(&error.to_string()),
        })
    }

    /// Returns the remote's tip without fetching it.
    fn remote_tip(&self) -> Result<Option<Oid>> {
        let find = || -> Result<(Option<Oid>, bool)> {
            if let Some(local) = self.local_repository(Direction::Fetch)? {
                let tip = match local.git.refname_to_id(self.branch.reference()) {
                    Err(error) if error.code() == ErrorCode::NotFound => None,
                    found => Some(found?),
                };
                return Ok((tip, local.git.refname_to_id(CONFLICTING_BRANCH).is_ok()));
            }
            libgit2::load_certificates();
            let mut remote = self.anonymous(Direction::Fetch)?;
            let callbacks = callbacks(&self.repository.git, &self.url(Direction::Fetch)?);
            let connection = remote.connect_auth(Direction::Fetch, Some(callbacks), None)?;
            let heads = connection.list()?;
            let tip_of =
                |name: &str| heads.iter().find(|head| head.name() == name).map(git2::RemoteHead::oid);
            Ok((tip_of(self.branch.reference()), tip_of(CONFLICTING_BRANCH).is_some()))
        };
        match find() {
            Ok((_, true)) => Err(Error::RemoteConflictingBranch { remote: self.remote.clone() }),
            Ok((tip, false)) => Ok(tip),
            Err(Error::Git(error)) => Err(self.failed(&error)),
            Err(error) => Err(error),
        }
    }

    /// Pushes to a repository on this machine. libgit2 would update the ref without comparing it, so the
    /// objects are copied there and the ref is moved by compare-and-swap.
    fn push_to_local(&self, local: &GitRepository, expected: Option<&str>, new: &str) -> Result<Pushed> {
        let refused = |reason: String| Error::PushRefused { remote: self.remote.clone(), reason };
        local_remote::check_rules(&local.git).map_err(refused)?;
        let write = || -> Result<Option<String>, git2::Error> {
            let new = Oid::from_str(new)?;
            let expected = expected.map(Oid::from_str).transpose()?;
            if !local_remote::copy_loose(&self.repository.git, &local.git, new, expected)? {
                copy(&self.repository.git, &local.git, new, expected, Step::Sending)?;
            }
            match compare_and_swap(&local.git, self.branch.reference(), expected, new, "bd sync") {
                Ok(()) => Ok(None),
                Err(error) if is_lost_race(&error) => {
                    if error.code() == ErrorCode::Locked {
                        wait_for_ref_lock(local.git.commondir(), self.branch.reference());
                    }
                    Ok(Some(error.message().to_owned()))
                }
                Err(error) => Err(error),
            }
        };
        let written = write();
        if local_remote::has_moved(&local.git) {
            let reason = "it was moved away or deleted during the push".to_owned();
            return Err(Error::Remote { remote: self.remote.clone(), reason });
        }
        match written {
            Ok(None) => {
                local_remote::pack(local);
                Ok(Pushed::Done)
            }
            Ok(Some(reason)) => Ok(self.lost(&reason)),
            Err(error) => {
                Err(Error::PushRefused { remote: self.remote.clone(), reason: redact(error.message()) })
            }
        }
    }

    fn push_over_network(&self, new: &str) -> Result<Pushed> {
        // The commit is pushed through a temporary ref, because libgit2's refspecs take names, not hashes.
        let staging = "refs/beads/push";
        let refused: Rc<RefCell<Option<String>>> = Rc::default();
        let push = || -> Result<(), git2::Error> {
            self.repository.git.reference(staging, Oid::from_str(new)?, true, "bd sync")?;
            let mut callbacks = callbacks(&self.repository.git, &self.url(Direction::Push)?);
            callbacks.push_transfer_progress(|sent, total, _| {
                SYNC.record(Step::Sending, sent as u64, total as u64);
            });
            let sink = refused.clone();
            callbacks.push_update_reference(move |_, status| {
                *sink.borrow_mut() = status.map(str::to_owned);
                Ok(())
            });
            let mut options = PushOptions::new();
            options.remote_callbacks(callbacks);
            let mut remote = self.anonymous(Direction::Push)?;
            remote.push(&[format!("{staging}:{}", self.branch.reference())], Some(&mut options))
        };
        let pushed = push();
        if let Ok(mut reference) = self.repository.git.find_reference(staging) {
            let _ = reference.delete();
        }
        match (pushed, refused.borrow().clone()) {
            (Ok(()), None) => Ok(Pushed::Done),
            (Ok(()), Some(reason)) if is_race(&reason) => Ok(self.lost(&reason)),
            (Ok(()), Some(reason)) => {
                Err(Error::PushRefused { remote: self.remote.clone(), reason: redact(&reason) })
            }
            (Err(error), _) if error.code() == ErrorCode::NotFastForward || is_race(error.message()) => {
                Ok(self.lost(error.message()))
            }
            (Err(error), _) => Err(self.failed(&error)),
        }
    }

    fn lost(&self, reason: &str) -> Pushed {
        Pushed::Lost(format!("{}{}", redact(reason), self.address.hint()))
    }
}

impl Remote for Native {
    fn name(&self) -> &str {
        &self.remote
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.within_deadline(Connection::fetch)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.push_while(expected, new, &mut || ())
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        let (expected, new) = (expected.map(str::to_owned), new.to_owned());
        self.within_deadline_while(move |connection| connection.push(expected.as_deref(), &new), work)
    }

    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        self.archive().fetch()
    }

    fn push_archive(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.archive().push(expected, new)
    }
}

impl Connection {
    fn fetch(&self) -> Result<Option<CommitId>> {
        let Some(tip) = self.remote_tip()? else { return Ok(None) };
        delete_conflicting_tracking_ref(&self.repository.git, &self.tracking_ref())?;
        let fetched = match self.local_repository(Direction::Fetch)? {
            Some(local) => {
                // Packing the copied objects takes as much memory as the longest one.
                let refused = |reason| Error::RemoteInvalid { commit: tip.to_string(), reason };
                vet(&local.git, tip, &self.known(), Depth::Files).map_err(refused)?;
                self.fetch_from_local(&local, tip)
            }
            None => self.fetch_over_network(tip),
        };
        let fetched = fetched.map_err(|error| self.failed(&error))?;
        // The fetched commit may become the local ref as it is.
        self.repository.sync_packs()?;
        Ok(Some(fetched.to_string()))
    }

    /// Returns the commits of the sync ref that are here with their whole history.
    fn known(&self) -> Vec<Oid> {
        let git = &self.repository.git;
        let known = [self.branch.reference(), &self.tracking_ref()].map(|name| git.refname_to_id(name).ok());
        // A ref may have outlived its objects.
        known.into_iter().flatten().filter(|known| git.find_commit(*known).is_ok()).collect()
    }

    /// Fetches from a repository on this machine. libgit2 would lose track of the boundary of a shallow clone
    /// and break it permanently, so the objects are copied as one pack.
    fn fetch_from_local(&self, local: &GitRepository, tip: Oid) -> Result<Oid, git2::Error> {
        let (git, known) = (&self.repository.git, self.known());
        if !known.contains(&tip) || !self.repository.is_complete(&tip.to_string()) {
            copy(&local.git, git, tip, known.into_iter().filter(|known| *known != tip), Step::Receiving)?;
        }
        wait_for_ref_lock(git.commondir(), &self.tracking_ref());
        git.reference(&self.tracking_ref(), tip, true, "bd sync")?;
        Ok(tip)
    }

    fn fetch_over_network(&self, tip: Oid) -> Result<Oid, git2::Error> {
        let git = &self.repository.git;
        wait_for_ref_lock(git.commondir(), &self.tracking_ref());
        let mut options = FetchOptions::new();
        let url = self.url(Direction::Fetch)?;
        let mut callbacks = callbacks(git, &url);
        callbacks.transfer_progress(|progress| record(Step::Receiving, &progress));
        options.remote_callbacks(callbacks).download_tags(git2::AutotagOption::None);
        options.update_fetchhead(false);
        let refspec = format!("+{}:{}", self.branch.reference(), self.tracking_ref());
        self.anonymous(Direction::Fetch)?.fetch(&[refspec], Some(&mut options), None)?;
        let tracked = git.refname_to_id(&self.tracking_ref()).ok().map(|oid| oid.to_string());
        Oid::from_str(&self.repository.newest_fetched(tip.to_string(), tracked))
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        let pushed = match self.local_repository(Direction::Push)? {
            Some(local) => self.push_to_local(&local, expected, new)?,
            None => {
                libgit2::load_certificates();
                self.push_over_network(new)?
            }
        };
        if pushed != Pushed::Done {
            return Ok(pushed);
        }
        // The push counts once the remote shows the commit.
        let (new, seen) = (Oid::from_str(new)?, self.remote_tip()?);
        if seen != Some(new) {
            let at = seen.map_or_else(|| "nothing".to_owned(), |seen| seen.to_string());
            let reference = self.branch.reference();
            return Ok(self.lost(&format!("the push was accepted, but {reference} is at {at} there")));
        }
        // Errors are ignored, because the next fetch updates the tracking ref again.
        let _ = self.repository.git.reference(&self.tracking_ref(), new, true, "bd sync");
        Ok(Pushed::Done)
    }
}

/// Copies a commit and its history from one repository to another, without the history of `known`.
pub(crate) fn copy(
    from: &git2::Repository,
    to: &git2::Repository,
    wanted: Oid,
    known: impl IntoIterator<Item = Oid>,
    step: Step,
) -> Result<(), git2::Error> {
    use std::io::Write;

    let mut walk = from.revwalk()?;
    walk.push(wanted)?;
    for known in known {
        // If a known commit is not there, more is copied than necessary.
        let _ = walk.hide(known);
    }
    let mut pack = from.packbuilder()?;
    pack.insert_walk(&mut walk)?;
    if pack.object_count() == 0 {
        return Ok(());
    }
    let odb = to.odb()?;
    let mut writer = odb.packwriter()?;
    writer.progress(move |progress| record(step, &progress));
    pack.foreach(|bytes| writer.write_all(bytes).is_ok())?;
    writer.commit().map(|_| ())
}

/// Records how far a transfer has come. Returns that it may continue.
fn record(step: Step, progress: &git2::Progress<'_>) -> bool {
    let (deltas, resolved) = (progress.total_deltas(), progress.indexed_deltas());
    if progress.received_objects() == progress.total_objects() && deltas > 0 {
        SYNC.record(Step::Indexing, resolved as u64, deltas as u64);
    } else {
        SYNC.record(step, progress.received_objects() as u64, progress.total_objects() as u64);
    }
    true
}

/// Returns whether a server's message says that another machine pushed first.
fn is_race(reason: &str) -> bool {
    let signs = [
        "fast-forward",
        "fast forward",
        "not present locally",
        "failed to lock",
        "cannot lock",
        "failed to update ref",
        "stale info",
        "reference already exists",
    ];
    signs.iter().any(|sign| reason.contains(sign))
}
