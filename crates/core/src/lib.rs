//! The data model of beads-rs: the types, the merge, the operations, the queries and the file format.
//!
//! This crate is pure. It uses no files, sockets, clocks or randomness, and no map with a random order. The
//! caller passes the current time and random numbers in a [`Context`], so every result can be reproduced.
//!
//! # State and join
//!
//! A [`State`] is everything one replica knows: its beads, the edges between them, the id prefix, the
//! replicated settings and the recorded conflicts. Every field of a [`Bead`] is a last-writer-wins
//! [`Register`], and every write carries a [`Mark`]: the [`Stamp`] of a hybrid clock and the [`Actor`] who
//! wrote. Marks are totally ordered, so any two replicas agree on which of two concurrent writes wins.
//!
//! Two states are merged by [`State::join`] and in no other way. States form a join-semilattice. In terms of
//! the encoded bytes, join is
//!
//! - commutative: `a ⊔ b = b ⊔ a`,
//! - associative: `(a ⊔ b) ⊔ c = a ⊔ (b ⊔ c)`,
//! - idempotent: `a ⊔ a = a`.
//!
//! So replicas may exchange states in any order and as often as they like: once each has seen every write,
//! all of them hold the same bytes. `tests/laws.rs` checks these laws on random histories.
//!
//! Beads are keyed by [`Lineage`] (birth id, time and creator), never by id. If two replicas mint the same
//! id, both beads survive a merge, and [`Names`] gives the younger one a longer id.
//!
//! # Operations and deltas
//!
//! An [`Op`] is a request such as "create a bead" or "claim the next one". [`Op::apply`] checks it against a
//! [`Catalog`] (a state with its indexes) and returns an [`Applied`] with a [`Delta`]: a small state that
//! holds only what the operation wrote. Applying an operation changes nothing yet. [`Catalog::join_delta`]
//! joins the delta into the state and updates the indexes. The journal stores deltas, and because joining
//! one twice changes nothing, it is always safe to replay.
//!
//! # Example
//!
//! Two replicas each create a bead, exchange their states, and end up equal:
//!
//! ```
//! use beads_core::op::Create;
//! use beads_core::{Catalog, Clock, Context, Line, Op, Result, Stamp};
//!
//! fn create(replica: &mut Catalog, clock: &mut Clock, title: &str) -> Result<()> {
//!     let tag = u64::from(clock.tag());
//!     let (actor, random, branch) = ("ann".parse()?, &mut || tag, Line::default());
//!     let mut context = Context { actor, now_ms: 1_700_000_000_000, clock, random, branch, lease_ms: 1 };
//!     let op = Op::Create(Box::new(Create::titled(title.parse()?)));
//!     let applied = op.apply(replica, &mut context)?;
//!     replica.join_delta(&applied.delta)?;
//!     Ok(())
//! }
//!
//! let (mut laptop, mut desktop) = (Catalog::default(), Catalog::default());
//! create(&mut laptop, &mut Clock::new(Stamp::ZERO, 1), "Fix the parser")?;
//! create(&mut desktop, &mut Clock::new(Stamp::ZERO, 2), "Write the docs")?;
//! assert_ne!(laptop.state(), desktop.state());
//!
//! laptop.join(desktop.state());
//! desktop.join(laptop.state());
//! assert_eq!(laptop.state(), desktop.state());
//! assert_eq!(laptop.live_count(), 2);
//! # Ok::<(), beads_core::Error>(())
//! ```

#![warn(missing_docs)]

pub mod canonical;
pub mod field;
pub mod import;
pub mod limits;
pub mod op;
pub mod planted;
pub mod query;
#[cfg(feature = "schema")]
pub mod schema;
pub mod snapshot;

mod actor;
mod archive;
mod bead;
mod body;
mod catalog;
mod claim;
mod claim_record;
mod clock;
mod code;
mod conflict;
mod content_hash;
mod context;
mod counted;
mod decode;
mod deletion;
mod delta;
mod difference;
mod edge;
mod encode;
mod encoder;
mod error;
mod event;
mod evidence;
mod export;
mod export_legacy;
mod floor;
mod foreign_delta;
mod garbage;
mod history;
mod id;
mod join;
mod line;
mod lineage;
mod lines;
mod memory_key;
mod names;
mod note;
mod parts;
mod past;
mod prefix;
mod question;
mod register;
mod salvage;
mod savepoint;
mod setting;
mod shared_bead;
mod shared_map;
mod size;
mod stamp;
mod state;
mod state_cache;
mod store_id;
mod timestamp;
mod title_index;
mod view;
mod words;

pub use actor::Actor;
pub use bead::{Bead, Field, Patch};
pub use catalog::{Catalog, QueueKey};
pub use claim::Claim;
pub use claim_record::{CLAIM_FILE, CLAIM_REF_PREFIX, CLAIM_REFS, ClaimRecord, ClaimState, check_ref_prefix};
pub use clock::{Clock, is_sane};
pub use code::{Code, ToolCode, exit};
pub use conflict::{Conflict, ConflictId, concurrent_writes, concurrent_writes_to};
pub use content_hash::content_hash;
pub use context::Context;
pub use counted::counted;
pub use decode::Decoded;
pub use deletion::Deletion;
pub use delta::Delta;
pub use edge::{Edge, EdgeKey, EdgeKind, Endpoint};
pub use encoder::Encoder;
pub use error::{Error, Obstacle, Result};
pub use event::{Event, EventKind};
pub use evidence::{EVIDENCE, Evidence};
pub use export::export_jsonl;
pub use export_legacy::export_legacy_store;
pub use field::{
    BeadType, Estimate, Label, Labels, Line, Metadata, Priority, Status, StatusGroup, Text, Title, TypeGroup,
    Word,
};
pub use floor::Floor;
pub use history::{EdgeChange, FieldChange, History, Write, find_bead, find_edges, is_hollow_in};
pub use id::BeadId;
pub use join::Touched;
pub use lineage::Lineage;
pub use memory_key::MemoryKey;
pub use names::Names;
pub use note::{Note, NoteId, Slot};
pub use op::{Applied, Op};
pub use prefix::{Prefix, PrefixRegister};
pub use question::{ANSWER, QUESTION, Question};
pub use register::Register;
pub use salvage::{Salvage, Unreadable};
pub use savepoint::Savepoint;
pub use setting::{
    CLOSE_CHECK, CLOSE_REQUIRE_EVIDENCE, GC_FLOOR_RESET, STATUS_CUSTOM, SettingKey, Settings, TYPE_CUSTOM,
};
pub use shared_bead::SharedBead;
pub use shared_map::SharedMap;
pub use snapshot::Snapshot;
pub use stamp::{Mark, Stamp};
pub use state::State;
pub use state_cache::StateCache;
pub use store_id::{MintedStoreId, StoreId};
pub use timestamp::{Timestamp, write_rfc3339};
pub use view::{BeadFacts, BeadView, DeletionView, LinkView, Nullable};
pub use words::{MEMORY, StatusName, TypeName};
