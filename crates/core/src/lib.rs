//! The heart of beads-rs. Pure: no file, socket, clock, randomness or map with random order.
//!
//! A [`State`] is a join-semilattice: replicas meet by [`State::join`] and by nothing else. An operation
//! reads a [`Catalog`] (a state with its indexes) and answers with a [`Delta`], a small state of its own.

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
mod decode;
mod deletion;
mod delta;
mod edge;
mod encode;
mod error;
mod event;
mod evidence;
mod export;
mod export_earlier;
mod floor;
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
mod register;
mod salvage;
mod savepoint;
mod setting;
mod shared_map;
mod size;
mod stamp;
mod state;
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
pub use conflict::{Conflict, ConflictId, concurrent_writes};
pub use content_hash::content_hash;
pub use context::Context;
pub use decode::Decoded;
pub use deletion::Deletion;
pub use delta::Delta;
pub use edge::{Edge, EdgeKey, EdgeKind, Endpoint};
pub use error::{Error, Obstacle, Result};
pub use event::{Event, EventKind};
pub use evidence::{EVIDENCE, Evidence};
pub use export::export_jsonl;
pub use export_earlier::export_earlier_store;
pub use field::{
    BeadType, Estimate, Label, Labels, Line, Metadata, Priority, Status, StatusGroup, Text, Title, TypeGroup,
    Word,
};
pub use floor::Floor;
pub use history::{EdgeChange, FieldChange, History, Write, find_bead, find_edges};
pub use id::BeadId;
pub use join::Touched;
pub use lineage::Lineage;
pub use memory_key::MemoryKey;
pub use names::Names;
pub use note::{Note, NoteId, Slot};
pub use op::{Applied, Op};
pub use prefix::{Prefix, PrefixRegister};
pub use register::Register;
pub use salvage::{Salvage, Unreadable};
pub use savepoint::Savepoint;
pub use setting::{
    CLOSE_CHECK, CLOSE_REQUIRE_EVIDENCE, GC_FLOOR_RESET, STATUS_CUSTOM, SettingKey, Settings, TYPE_CUSTOM,
};
pub use shared_map::SharedMap;
pub use snapshot::Snapshot;
pub use stamp::{Mark, Stamp};
pub use state::State;
pub use store_id::{MintedStoreId, StoreId};
pub use timestamp::{Timestamp, write_rfc3339};
pub use view::{BeadFacts, BeadView, DeletionView, LinkView, Nullable};
pub use words::{MEMORY, StatusName, TypeName};
