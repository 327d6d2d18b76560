//! The store: the journal, the git repository, the lock, and the replica that ties them together.
//!
//! IO stands behind small traits ([`Disk`], [`Repository`], [`World`]), so that the simulator runs the real
//! [`Replica`] on a disk that loses and tears what was not synced.

pub mod disk;
pub mod frame;
pub mod uninstall;
mod url;
mod vet;

mod absorb;
mod address;
mod batch;
mod bring;
mod checkpoint;
mod child;
mod claim_refs;
mod claims;
mod collecting;
mod credential_helper;
mod credentials;
mod deadline;
mod earlier;
mod environment;
mod error;
mod event_log;
mod file_lock;
mod git;
mod git_program;
mod guarded;
mod history;
mod identity;
mod join_only;
mod journal;
mod journal_copy;
mod kept_commit;
mod last_operations;
mod library;
mod lock;
mod log_file;
mod loose;
mod native;
mod neighbour;
mod pace;
mod pack;
mod partial;
mod person;
mod push_budget;
mod receipts;
mod record;
mod recovery;
mod regular_file;
mod remote;
mod repair;
mod replace_file;
mod replica;
mod repository;
mod rescue;
mod saved;
mod sync;
mod tags;
mod told;
mod transport;
mod wall;

pub use batch::Batch;
pub use checkpoint::{Checkpoint, Saved};
pub use child::abandon_all;
pub use claim_refs::{ClaimRemote, ClaimValue, ClaimsSeen, RefChange, Swapped};
pub use claims::{
    Attempt, ClaimBook, ClaimObjects, Outcome, Own, Round, RoundResult, Steady, SystemUptime, Upkeep,
    UpkeepResult, Upkept, Uptime, Watch, Watched, withdraw,
};
pub use credentials::without_secrets;
pub use disk::{Disk, DiskFile, RealDisk, sync_directory};
pub use earlier::{TakenOver, backup_of, take_over};
pub use environment::withhold_git_variables;
pub use error::{Error, Result};
pub use event_log::{Cursor, EventBatch, Logged};
pub use file_lock::{is_locked, lock_within, open_to_lock, try_lock};
pub use git::GitRepository;
pub use git_program::GitProgram;
pub use guarded::Guarded;
pub use history::Past;
pub use identity::{Fate, Identity};
pub use join_only::JoinOnly;
pub use journal::{Journal, Recovered};
pub use journal_copy::JournalCopy;
pub use lock::{Holder, StoreLock};
pub use native::Native;
pub use pace::Pace;
pub use pack::PACK_AFTER;
pub use person::person;
pub use push_budget::PushBudget;
pub use receipts::{MAX_LASTING, MAX_PASSING};
pub use record::{Asked, Header, LastOperation, Receipt, Record};
pub use regular_file::{not_regular, open_regular};
pub use remote::{Pushed, Remote};
pub use repair::{Balance, Plan, examine};
pub use replace_file::{Replacement, replace_file};
pub use replica::{Caller, Replica, Unsaved};
pub use repository::{BRANCH_IN_THE_WAY, CommitId, REF, Repository};
pub use rescue::{Rescue, RescueHeader, remote_fingerprint};
pub use sync::{Exchange, MAX_ROUNDS};
pub use transport::{AnyRemote, Transport, default_remote, is_over_network};
pub use uninstall::remove_remote_store;
pub use wall::{RealWorld, World};
