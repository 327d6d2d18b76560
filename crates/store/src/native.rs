//! The transport that needs nothing installed: libgit2.

mod claims;

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
use crate::git::{GitRepository, clear_the_way, is_lost_race, outwait_lock};
use crate::remote::{Pushed, Remote};
use crate::repository::{BRANCH_IN_THE_WAY, CommitId, REF};
use crate::url::{local_path, redact};
use crate::vet::{Depth, vet};
use crate::{Error, Result, library, neighbour};

/// A remote reached through the git library.
#[derive(Debug, Clone)]
pub struct Native {
    git_dir: PathBuf,
    remote: String,
    deadline: Deadline,
}

impl Native {
    /// The deadline begins now, and holds for everything that is done with this remote.
    pub fn new(git_dir: &Path, remote: &str, deadline: Duration) -> Self {
        Self { git_dir: git_dir.to_owned(), remote: remote.to_owned(), deadline: Deadline::new(deadline) }
    }

    /// Runs a step in a thread of its own and stops waiting for it at the deadline. The library cannot be interrupted:
    /// a step that was given up ends when its server does, or after [`crate::library`]'s patience. Should it still
    /// get through, it has pushed what is saved here anyway.
    pub(crate) fn within_deadline<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Line) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (send, receive) = mpsc::channel();
        let (git_dir, remote) = (self.git_dir.clone(), self.remote.clone());
        if GIVEN_UP.load(Ordering::Relaxed) >= MAX_GIVEN_UP {
            let reason =
                format!("{MAX_GIVEN_UP} earlier attempts still wait for a server that does not answer");
            return Err(Error::Remote { remote: self.remote.clone(), reason });
        }
        let running = Arc::new(AtomicBool::new(true));
        let end = StepEnd(running.clone());
        std::thread::spawn(move || {
            let _end = end;
            // Nobody listens any more when the deadline has passed.
            let _ = send.send(Line::open(&git_dir, &remote).and_then(|line| step(&line)));
        });
        receive.recv_timeout(self.deadline.left()).unwrap_or_else(|error| {
            Err(match error {
                mpsc::RecvTimeoutError::Timeout => {
                    // A step that ends at this very moment takes the count back.
                    GIVEN_UP.fetch_add(1, Ordering::Relaxed);
                    if !running.swap(false, Ordering::AcqRel) {
                        GIVEN_UP.fetch_sub(1, Ordering::Relaxed);
                    }
                    self.deadline.passed(&self.remote)
                }
                mpsc::RecvTimeoutError::Disconnected => {
                    Error::Remote { remote: self.remote.clone(), reason: "the transport failed".to_owned() }
                }
            })
        })
    }
}

/// So many steps that were given up may still be under way: each has a thread and a connection.
const MAX_GIVEN_UP: usize = 4;

static GIVEN_UP: AtomicUsize = AtomicUsize::new(0);

/// Notes the end of a step's thread. The flag is set while the step runs and its caller waits; the second of the two to
/// leave finds it cleared.
struct StepEnd(Arc<AtomicBool>);

impl Drop for StepEnd {
    fn drop(&mut self) {
        if !self.0.swap(false, Ordering::AcqRel) {
            GIVEN_UP.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The repository and the remote, in the thread that talks to it.
pub(crate) struct Line {
    pub(crate) repository: GitRepository,
    remote: String,
    address: Address,
}

impl Line {
    fn open(git_dir: &Path, remote: &str) -> Result<Self> {
        let repository = GitRepository::open(git_dir)?;
        let address = Address::of(&repository.git, remote)?;
        Ok(Self { repository, remote: remote.to_owned(), address })
    }

    fn failed(&self, error: &git2::Error) -> Error {
        Error::Remote { remote: self.remote.clone(), reason: redact(error.message()) }
    }

    fn tracking_ref(&self) -> String {
        format!("refs/remotes/{}/beads/store", self.remote)
    }

    /// The remote without the refspecs that are configured for it: what we fetch goes to our tracking ref and nowhere else.
    fn anonymous(&self, direction: Direction) -> Result<git2::Remote<'_>, git2::Error> {
        let url = if direction == Direction::Push { &self.address.push } else { &self.address.fetch };
        self.repository.git.remote_anonymous(url)
    }

    /// The address with `url.*.insteadOf` applied.
    pub(crate) fn url(&self, direction: Direction) -> Result<String, git2::Error> {
        let remote = self.anonymous(direction)?;
        let push_url = remote.pushurl().ok().flatten().filter(|_| direction == Direction::Push);
        Ok(push_url.or(remote.url().ok()).unwrap_or_default().to_owned())
    }

    /// The remote's repository itself, when it is on this machine.
    pub(crate) fn neighbour(&self, direction: Direction) -> Result<Option<GitRepository>> {
        let url = self.url(direction).map_err(|error| self.failed(&error))?;
        let Some(path) = local_path(&url) else { return Ok(None) };
        let path: PathBuf = self.address.base.join(path);
        GitRepository::open(&path).map(Some).map_err(|error| Error::Remote {
            remote: self.remote.clone(),
            reason: redact(&error.to_string()),
        })
    }

    /// The remote's tip, without bringing anything.
    fn remote_tip(&self) -> Result<Option<Oid>> {
        let find = || -> Result<(Option<Oid>, bool)> {
            if let Some(neighbour) = self.neighbour(Direction::Fetch)? {
                let tip = match neighbour.git.refname_to_id(REF) {
                    Err(error) if error.code() == ErrorCode::NotFound => None,
                    found => Some(found?),
                };
                return Ok((tip, neighbour.git.refname_to_id(BRANCH_IN_THE_WAY).is_ok()));
            }
            library::load_certificates();
            let mut remote = self.anonymous(Direction::Fetch)?;
            let callbacks = callbacks(&self.repository.git, &self.url(Direction::Fetch)?);
            let connection = remote.connect_auth(Direction::Fetch, Some(callbacks), None)?;
            let heads = connection.list()?;
            let tip_of =
                |name: &str| heads.iter().find(|head| head.name() == name).map(git2::RemoteHead::oid);
            Ok((tip_of(REF), tip_of(BRANCH_IN_THE_WAY).is_some()))
        };
        match find() {
            Ok((_, true)) => Err(Error::RemoteBranchInTheWay { remote: self.remote.clone() }),
            Ok((tip, false)) => Ok(tip),
            Err(Error::Git(error)) => Err(self.failed(&error)),
            Err(error) => Err(error),
        }
    }

    /// The library updates a ref on this machine without looking whether somebody else just did. So the objects go into
    /// the neighbour's store as one pack, and the ref is compared and swapped there.
    fn push_to_neighbour(
        &self,
        neighbour: &GitRepository,
        expected: Option<&str>,
        new: &str,
    ) -> Result<Pushed> {
        let refused = |reason: String| Error::PushRefused { remote: self.remote.clone(), reason };
        neighbour::check_rules(&neighbour.git).map_err(refused)?;
        let write = || -> Result<Option<String>, git2::Error> {
            let new = Oid::from_str(new)?;
            let expected = expected.map(Oid::from_str).transpose()?;
            if !neighbour::copy_loose(&self.repository.git, &neighbour.git, new, expected)? {
                copy(&self.repository.git, &neighbour.git, new, expected)?;
            }
            let moved = match expected {
                Some(expected) => neighbour.git.reference_matching(REF, new, true, expected, "bd sync"),
                None => neighbour.git.reference(REF, new, false, "bd sync"),
            };
            match moved {
                Ok(_) => Ok(None),
                Err(error) if is_lost_race(&error) => {
                    if error.code() == ErrorCode::Locked {
                        outwait_lock(neighbour.git.commondir(), REF);
                    }
                    Ok(Some(error.message().to_owned()))
                }
                Err(error) => Err(error),
            }
        };
        let written = write();
        if neighbour::has_moved(&neighbour.git) {
            let reason = "it was moved away or deleted meanwhile".to_owned();
            return Err(Error::Remote { remote: self.remote.clone(), reason });
        }
        match written {
            Ok(None) => {
                neighbour::pack(neighbour);
                Ok(Pushed::Done)
            }
            Ok(Some(reason)) => Ok(self.lost(&reason)),
            Err(error) => {
                Err(Error::PushRefused { remote: self.remote.clone(), reason: redact(error.message()) })
            }
        }
    }

    fn push_over_the_wire(&self, new: &str) -> Result<Pushed> {
        // A commit is pushed through a reference of our own: refspecs of the library take names, not hashes.
        let staging = "refs/beads/push";
        let refused: Rc<RefCell<Option<String>>> = Rc::default();
        let push = || -> Result<(), git2::Error> {
            self.repository.git.reference(staging, Oid::from_str(new)?, true, "bd sync")?;
            let mut callbacks = callbacks(&self.repository.git, &self.url(Direction::Push)?);
            let sink = refused.clone();
            callbacks.push_update_reference(move |_, status| {
                *sink.borrow_mut() = status.map(str::to_owned);
                Ok(())
            });
            let mut options = PushOptions::new();
            options.remote_callbacks(callbacks);
            let mut remote = self.anonymous(Direction::Push)?;
            remote.push(&[format!("{staging}:{REF}")], Some(&mut options))
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
        self.within_deadline(Line::fetch)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        let (expected, new) = (expected.map(str::to_owned), new.to_owned());
        self.within_deadline(move |line| line.push(expected.as_deref(), &new))
    }
}

impl Line {
    fn fetch(&self) -> Result<Option<CommitId>> {
        let Some(tip) = self.remote_tip()? else { return Ok(None) };
        clear_the_way(&self.repository.git, &self.tracking_ref())?;
        let fetched = match self.neighbour(Direction::Fetch)? {
            Some(neighbour) => {
                // Packing what is copied takes as much memory as its longest object.
                let refused = |reason| Error::RemoteInvalid { commit: tip.to_string(), reason };
                vet(&neighbour.git, tip, &self.known(), Depth::Files).map_err(refused)?;
                self.fetch_from_neighbour(&neighbour, tip)
            }
            None => self.fetch_over_the_wire(tip),
        };
        let fetched = fetched.map_err(|error| self.failed(&error))?;
        // What was fetched may become the local ref as it is.
        self.repository.sync_packs()?;
        Ok(Some(fetched.to_string()))
    }

    /// The commits of the sync ref that are here, with all they build on.
    fn known(&self) -> Vec<Oid> {
        let git = &self.repository.git;
        let known = [REF, &self.tracking_ref()].map(|name| git.refname_to_id(name).ok());
        // A ref may have outlived its objects.
        known.into_iter().flatten().filter(|known| git.find_commit(*known).is_ok()).collect()
    }

    /// The library forgets that a clone is shallow when it fetches from a path on this machine, and the clone is broken
    /// for good. So the objects come as one pack, as they go.
    fn fetch_from_neighbour(&self, neighbour: &GitRepository, tip: Oid) -> Result<Oid, git2::Error> {
        let (git, known) = (&self.repository.git, self.known());
        if !known.contains(&tip) || !self.repository.is_complete(&tip.to_string()) {
            copy(&neighbour.git, git, tip, known.into_iter().filter(|known| *known != tip))?;
        }
        outwait_lock(git.commondir(), &self.tracking_ref());
        git.reference(&self.tracking_ref(), tip, true, "bd sync")?;
        Ok(tip)
    }

    fn fetch_over_the_wire(&self, tip: Oid) -> Result<Oid, git2::Error> {
        let git = &self.repository.git;
        outwait_lock(git.commondir(), &self.tracking_ref());
        let mut options = FetchOptions::new();
        let url = self.url(Direction::Fetch)?;
        options.remote_callbacks(callbacks(git, &url)).download_tags(git2::AutotagOption::None);
        options.update_fetchhead(false);
        let refspec = format!("+{REF}:{}", self.tracking_ref());
        self.anonymous(Direction::Fetch)?.fetch(&[refspec], Some(&mut options), None)?;
        Ok(git.refname_to_id(&self.tracking_ref()).unwrap_or(tip))
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        let pushed = match self.neighbour(Direction::Push)? {
            Some(neighbour) => self.push_to_neighbour(&neighbour, expected, new)?,
            None => {
                library::load_certificates();
                self.push_over_the_wire(new)?
            }
        };
        if pushed != Pushed::Done {
            return Ok(pushed);
        }
        // Believed when the remote shows it.
        let (new, seen) = (Oid::from_str(new)?, self.remote_tip()?);
        if seen != Some(new) {
            let at = seen.map_or_else(|| "nothing".to_owned(), |seen| seen.to_string());
            return Ok(self.lost(&format!("the push was accepted, but {REF} is at {at} there")));
        }
        // Only a note of what we saw; the next fetch makes it again.
        let _ = self.repository.git.reference(&self.tracking_ref(), new, true, "bd sync");
        Ok(Pushed::Done)
    }
}

/// Brings a commit and its history from one repository into another, but not what `known` brings along already.
pub(crate) fn copy(
    from: &git2::Repository,
    to: &git2::Repository,
    wanted: Oid,
    known: impl IntoIterator<Item = Oid>,
) -> Result<(), git2::Error> {
    use std::io::Write;

    let mut walk = from.revwalk()?;
    walk.push(wanted)?;
    for known in known {
        // Not there means that nothing builds on it, and more is sent than would be needed.
        let _ = walk.hide(known);
    }
    let mut pack = from.packbuilder()?;
    pack.insert_walk(&mut walk)?;
    if pack.object_count() == 0 {
        return Ok(());
    }
    let odb = to.odb()?;
    let mut writer = odb.packwriter()?;
    pack.foreach(|bytes| writer.write_all(bytes).is_ok())?;
    writer.commit().map(|_| ())
}

/// What servers say when somebody else was faster.
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
