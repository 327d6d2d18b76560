//! Two programs embed a replica each and sync through a bare repository, without a daemon or `bd`.
//!
//! Run it with `cargo run -p beads-store --example embedded_replica`.

#![allow(clippy::print_stdout)] // an example prints what happens

use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::op::{Create, Update};
use beads_core::{Line, Op};
use beads_store::{
    AnyRemote, Caller, Exchange, GitRepository, RealDisk, RealWorld, Replica, StoreLock, Transport,
};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A replica with the lock on its store.
struct Embedded {
    git_dir: PathBuf,
    caller: Caller,
    replica: Replica<RealDisk, RealWorld>,
    _lock: StoreLock,
}

impl Embedded {
    /// Creates a repository whose remote is `remote.git`, and opens a replica in it.
    fn open(root: &Path, name: &str) -> Result<Self> {
        let git_dir = root.join(name);
        let remote = root.join("remote.git");
        git2::Repository::init_bare(&git_dir)?.remote("origin", &remote.to_string_lossy())?;
        // The lock comes first: only its holder may write to the store.
        let lock = StoreLock::take(&git_dir.join("beads/lock"), Duration::from_secs(1))?;
        let disk = RealDisk::new(git_dir.join("beads"));
        let replica = Replica::open(disk, &GitRepository::open(&git_dir)?, RealWorld)?;
        let caller =
            Caller { actor: name.parse()?, branch: Line::default(), lease_ms: 3_600_000, request: None };
        Ok(Self { git_dir, caller, replica, _lock: lock })
    }

    /// Applies an operation in memory and makes it durable in the journal.
    fn run(&mut self, op: &Op) -> Result<()> {
        self.replica.apply(op, &self.caller)?;
        self.replica.commit()?;
        Ok(())
    }

    /// Saves to the local ref and exchanges changes with the remote.
    fn sync(&mut self) -> Result<Exchange> {
        let repository = GitRepository::open(&self.git_dir)?;
        let remote = AnyRemote::open(&self.git_dir, "origin", Transport::Native, Duration::from_secs(30));
        let checkpoint = self.replica.begin_checkpoint()?;
        // A program with other work would run this in a thread: the replica takes mutations in the meantime.
        match checkpoint.sync(&repository, &remote, |_round| {}) {
            Ok((saved, exchange)) => {
                self.replica.finish_checkpoint(saved, Vec::new())?;
                Ok(exchange?) // even if the exchange failed, the local save stands
            }
            Err(error) => {
                self.replica.abandon_checkpoint(); // nothing was saved; the changes stay in the journal
                Err(error.into())
            }
        }
    }

    fn titles(&self) -> Vec<String> {
        self.replica.catalog().live().map(|(_, bead)| bead.title.value.to_string()).collect()
    }
}

fn rename(id: &str, title: &str) -> Result<Op> {
    Ok(Op::Update(Box::new(Update { title: Some(title.parse()?), ..Update::of(id) })))
}

fn main() -> Result<()> {
    let root = tempfile::tempdir()?;
    git2::Repository::init_bare(root.path().join("remote.git"))?;
    let mut ann = Embedded::open(root.path(), "ann")?;
    let mut ben = Embedded::open(root.path(), "ben")?;

    let create = Create { id: Some("bd-1".parse()?), ..Create::titled("Fix the parser".parse()?) };
    ann.run(&Op::Create(Box::new(create)))?;
    println!("ann created a bead; {} change is only in her journal", ann.replica.unsaved().records);
    println!("ann synced: pushed = {}", ann.sync()?.pushed);
    println!("ben synced: pulled = {}, his beads: {:?}", ben.sync()?.pulled, ben.titles());

    // Both change the same title without knowing of each other.
    ann.run(&rename("bd-1", "Fix the lexer")?)?;
    ben.run(&rename("bd-1", "Rewrite the parser")?)?;
    ann.sync()?;
    println!("ben merged ann's change: {} conflict recorded", ben.sync()?.conflicts);
    ann.sync()?;

    println!("ann: {:?}, ben: {:?}", ann.titles(), ben.titles());
    assert_eq!(ann.replica.catalog().state(), ben.replica.catalog().state());
    println!("both replicas hold the same state; the losing title is in the conflict list");
    Ok(())
}
