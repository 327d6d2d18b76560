//! The storage of beads-rs: makes mutations durable on disk, saves them to git, and syncs them with a remote.
//!
//! # Concepts
//!
//! - A **replica** is one copy of a store, usually one per clone. [`Replica`] keeps the whole state in memory
//!   as a [`Catalog`](beads_core::Catalog), applies operations to it, and owns the journal.
//! - The **journal** is a write-ahead log beside the repository. [`Replica::apply`] changes only memory;
//!   [`Replica::commit`] writes the deltas of all operations since the last commit into one frame and syncs
//!   the file once. Acknowledge a mutation only after that.
//! - The **ref** (or sync ref) is the branch `beads/store` ([`REF`]). A **checkpoint** commits the state to
//!   it as a few canonical files, reads the commit back, and only then trims the journal. Opening a store joins
//!   the commit of the ref with every record in the journal, so a crash at any point loses nothing that was
//!   committed.
//! - A **sync** exchanges the ref with a [`Remote`]: fetch, decode, join, commit, compare-and-swap the local
//!   ref, push. If another machine pushed first, it starts over. A join never fails on a valid commit. Values
//!   that lost to a concurrent write are recorded as conflicts.
//! - The **lock** ([`StoreLock`]) makes one process the only writer of a store. Hold it for as long as the
//!   replica is open.
//!
//! # Example
//!
//! ```
//! use beads_core::op::Create;
//! use beads_core::{Line, Op};
//! use beads_store::{Caller, GitRepository, RealDisk, RealWorld, Replica};
//!
//! let directory = tempfile::tempdir()?;
//! let repository = GitRepository::open_or_init_bare(directory.path())?;
//! let disk = RealDisk::new(directory.path().join("beads"));
//! let mut replica = Replica::open(disk, &repository, RealWorld)?;
//!
//! let (actor, branch) = ("ann".parse()?, Line::default());
//! let caller = Caller { actor, branch, lease_ms: 3_600_000, request: None };
//! replica.apply(&Op::Create(Box::new(Create::titled("Fix the parser".parse()?))), &caller)?;
//! replica.commit()?; // now it is durable in the journal
//! assert_eq!(replica.unsaved().records, 1);
//! replica.checkpoint(&repository)?; // now it is on the ref
//! assert_eq!(replica.unsaved().records, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/embedded_replica.rs` adds a second replica and syncs both through a bare repository.
//!
//! # Interfaces
//!
//! All IO goes through small traits: [`Disk`] for the journal, [`Repository`] for commits and the ref,
//! [`Remote`] and [`ClaimRemote`] for the other side, [`World`] for the wall clock and random numbers, and
//! [`SteadyClock`] for leases. The simulator implements them, so it runs the real replica and the real sync
//! on a disk that loses unsynced writes.

#![warn(missing_docs)]

pub mod disk;
pub mod frame;
pub mod hub;
pub mod progress;

mod absorb;
mod address;
mod archive;
mod batch;
mod cached_answer;
mod changes;
mod checkpoint;
mod child;
mod claim_refs;
mod claims;
mod credential_helper;
mod credentials;
mod cursor;
mod deadline;
mod environment;
mod error;
mod event_log;
mod event_log_copy;
mod fetch_missing;
mod file_lock;
mod git;
mod git_gc;
mod git_program;
mod git_user_name;
mod guarded;
mod history;
mod identity;
mod join_only;
mod journal;
mod journal_copy;
mod kept_commit;
mod last_operations;
mod legacy;
mod libgit2;
mod local_remote;
mod lock;
mod log_file;
mod loose;
mod native;
mod pace;
mod pack;
mod partial;
mod plain_remote;
mod push_budget;
mod random;
mod receipts;
mod record;
mod recovery;
mod ref_sync;
mod ref_update;
mod regular_file;
mod remote;
mod repair;
mod replace_file;
mod replica;
mod repository;
mod rescue;
mod saved;
mod state_cache;
mod sync;
mod tags;
mod take_foreign;
mod tracking;
mod transport;
mod unhealed;
mod uninstall;
mod url;
mod vet;
mod world;

pub use archive::read_archive;
pub use batch::Batch;
pub use checkpoint::{Checkpoint, Saved};
pub use child::kill_child_programs;
pub use claim_refs::{ClaimListing, ClaimRemote, ClaimValue, RefChange, Swapped};
pub use claims::{
    Attempt, ClaimBook, ClaimObjects, Outcome, OwnClaim, Round, RoundResult, SteadyClock, SystemUptime,
    Upkeep, UpkeepReport, UpkeepResult, Uptime, Watch, Watched, withdraw,
};
pub use credentials::without_secrets;
pub use cursor::Cursor;
pub use disk::{Disk, DiskFile, RealDisk, sync_directory};
pub use environment::withhold_git_variables;
pub use error::{Error, Result};
pub use event_log::{EventBatch, Logged};
pub use event_log_copy::{EventLogCopy, PastEvents};
pub use file_lock::{is_locked, lock_within, open_to_lock, try_lock};
pub use git::GitRepository;
pub use git_program::GitProgram;
pub use git_user_name::git_user_name;
pub use guarded::Guarded;
pub use history::PastCommit;
pub use identity::{Identity, StoreChange};
pub use join_only::JoinOnly;
pub use journal::{Journal, Recovered};
pub use journal_copy::JournalCopy;
pub use legacy::{TakenOver, take_over};
pub use lock::{Holder, StoreLock};
pub use native::Native;
pub use pace::Pace;
pub use pack::PACK_AFTER;
pub use push_budget::PushBudget;
pub use random::{fill_random, random_u64};
pub use receipts::{MAX_LONG_LIVED_RECEIPTS, MAX_SHORT_LIVED_RECEIPTS};
pub use record::{CarriedOperations, Header, LastOperation, Receipt, Record, RequestKey, Step};
pub use ref_sync::RefSync;
pub use regular_file::{not_regular, open_regular};
pub use remote::{Pushed, Remote};
pub use repair::{Balance, Plan, examine};
pub use replace_file::{Replacement, replace_file};
pub use replica::{Caller, Replica, Unsaved};
pub use repository::{ARCHIVE_REF, CommitId, REF, Repository};
pub use rescue::{Rescue, RescueHeader, remote_fingerprint};
pub use state_cache::{open_state_cache, seal_state_cache};
pub use sync::{Exchange, MAX_ROUNDS};
pub use transport::{AnyRemote, Transport, default_remote, is_over_network};
pub use uninstall::remove_remote_store;
pub use world::{RealWorld, World};
