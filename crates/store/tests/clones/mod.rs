//! Several replicas on this machine and the bare repository they share.
#![allow(dead_code, clippy::print_stdout)] // each program uses only a part; a skipped test prints why

use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::op::{Create, Update};
use beads_core::{Applied, Op, State};
use beads_store::{
    AnyRemote, Caller, Error, Exchange, GitProgram, GitRepository, RealDisk, RealWorld, Replica, Repository,
    Transport, World,
};
use tempfile::TempDir;

/// A clone: a repository with a remote, and the replica in it.
pub struct Clone {
    pub git_dir: PathBuf,
    pub replica: Replica<RealDisk, RealWorld>,
    transport: Transport,
    pub actor: String,
}

impl Clone {
    pub fn new(root: &Path, name: &str, transport: Transport) -> Self {
        let git = git2::Repository::init(root.join(name)).unwrap();
        git.remote("origin", root.join("remote.git").to_str().unwrap()).unwrap();
        Self::open(git.path(), name, transport)
    }

    pub fn open(git_dir: &Path, name: &str, transport: Transport) -> Self {
        Self::try_open(git_dir, name, transport).unwrap()
    }

    pub fn try_open(git_dir: &Path, name: &str, transport: Transport) -> Result<Self, Error> {
        let repository = GitRepository::open(git_dir)?;
        let replica = Replica::open(RealDisk::new(git_dir.join("beads")), &repository, RealWorld)?;
        Ok(Self { git_dir: git_dir.to_owned(), replica, transport, actor: name.to_owned() })
    }

    pub fn reopen(self) -> Self {
        let Self { git_dir, transport, actor, replica } = self;
        drop(replica);
        Self::open(&git_dir, &actor, transport)
    }

    /// Reopens like the service: rolls back a commit that git collected before it was recorded.
    pub fn reopen_after_a_crash(self) -> Self {
        let Self { git_dir, transport, actor, replica } = self;
        drop(replica);
        Self::try_open(&git_dir, &actor, transport).unwrap_or_else(|error| {
            let repository = GitRepository::open(&git_dir).unwrap();
            assert!(repository.roll_back_unfinished_save().unwrap(), "{error}");
            Self::open(&git_dir, &actor, transport)
        })
    }

    pub fn repository(&self) -> GitRepository {
        GitRepository::open(&self.git_dir).unwrap()
    }

    pub fn remote(&self) -> AnyRemote {
        AnyRemote::open(&self.git_dir, "origin", self.transport, Duration::from_secs(60))
    }

    /// Applies an operation if possible: some refer to beads that do not exist.
    pub fn attempt(&mut self, op: &Op) -> Option<Applied> {
        let done = self.replica.apply(op, &self.caller()).ok();
        self.replica.commit().unwrap();
        done
    }

    pub fn try_run(&mut self, op: &Op) -> Result<Applied, Error> {
        let done = self.replica.apply(op, &self.caller())?;
        self.replica.commit()?;
        Ok(done)
    }

    fn caller(&self) -> Caller {
        Caller {
            actor: self.actor.parse().unwrap(),
            branch: Default::default(),
            lease_ms: 7_200_000,
            request: None,
        }
    }

    pub fn run(&mut self, op: &Op) {
        assert!(self.attempt(op).is_some(), "{op:?}");
    }

    pub fn sync(&mut self) -> Exchange {
        self.try_sync(|_| {}).unwrap()
    }

    pub fn try_sync(&mut self, pause: impl FnMut(u32)) -> Result<Exchange, Error> {
        let repository = GitRepository::open(&self.git_dir)?;
        let checkpoint = self.replica.begin_checkpoint()?;
        let (saved, exchange) = match checkpoint.sync(&repository, &self.remote(), pause) {
            Ok(synced) => synced,
            Err(error) => {
                self.replica.abandon_checkpoint();
                return Err(error);
            }
        };
        self.replica.finish_checkpoint(saved, Vec::new())?;
        exchange
    }

    pub fn state(&self) -> &State {
        self.replica.catalog().state()
    }

    pub fn tip(&self) -> Option<String> {
        self.repository().tip().unwrap()
    }
}

pub fn transports() -> Vec<Transport> {
    if GitProgram::is_installed() {
        vec![Transport::Native, Transport::Git]
    } else {
        println!("skipped: the git program is not installed, so its transport is not tested");
        vec![Transport::Native]
    }
}

pub fn world(names: &[&str], transport: Transport) -> (TempDir, Vec<Clone>) {
    let root = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(root.path().join("remote.git")).unwrap();
    let clones = names.iter().map(|name| Clone::new(root.path(), name, transport)).collect();
    (root, clones)
}

pub fn create(id: &str, title: &str) -> Op {
    let create = Create { id: Some(id.parse().unwrap()), ..Create::titled(title.parse().unwrap()) };
    Op::Create(Box::new(create))
}

pub fn retitle(id: &str, title: &str) -> Op {
    Op::Update(Box::new(Update { title: Some(title.parse().unwrap()), ..Update::of(id) }))
}

/// Waits until the wall clock ticks, so that the next write is later than the last, whatever the replicas'
/// tags are.
pub fn tick() {
    let now = || RealWorld.now_ms();
    let before = now();
    while now() == before {
        std::thread::yield_now();
    }
}

/// Syncs all clones until none has changes, and checks that all have the same commit.
pub fn sync_all(clones: &mut [Clone]) {
    for _ in 0..4 {
        for clone in clones.iter_mut() {
            clone.sync();
        }
    }
    let tips: Vec<_> = clones.iter().map(Clone::tip).collect();
    assert!(tips.windows(2).all(|pair| pair[0] == pair[1]), "the tips differ: {tips:?}");
    let first = clones[0].state().encode();
    for clone in clones.iter() {
        assert!(clone.state().encode() == first, "{} holds other bytes", clone.actor);
        let tip = clone.tip().unwrap();
        assert!(
            clone.repository().snapshot(&tip).unwrap() == first,
            "the ref of {} is behind its memory",
            clone.actor
        );
    }
}
