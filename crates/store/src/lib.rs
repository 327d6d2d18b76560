//! The store: the journal, the git repository, the lock, and the replica that ties them together.
//!
//! IO stands behind small traits ([`Disk`], [`Repository`], [`World`]), so that the simulator runs the real
//! [`Replica`] on a disk that loses and tears what was not synced.

pub mod disk;
pub mod frame;

mod checkpoint;
mod error;
mod git;
mod journal;
mod lock;
mod record;
mod repair;
mod replica;
mod repository;
mod wall;

pub use checkpoint::{Checkpoint, Saved};
pub use disk::{Disk, DiskFile, RealDisk, sync_directory};
pub use error::{Error, Result};
pub use git::GitRepository;
pub use journal::{Journal, Recovered};
pub use lock::StoreLock;
pub use record::{Header, Receipt, Record};
pub use repair::{Plan, examine};
pub use replica::{Caller, Replica, Unsaved};
pub use repository::{CommitId, REF, Repository};
pub use wall::{RealWorld, World};
