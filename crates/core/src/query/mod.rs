//! The queries of a catalog, one per file.

mod active;
mod blocked;
mod clock_skew;
mod count;
mod cycles;
mod diff;
mod drawing;
mod epics;
mod explain;
mod filter;
mod impact;
mod keystone;
mod labels;
mod list;
mod lost_work;
mod memories;
mod orphans;
mod plan;
mod questions;
mod reach;
mod readiness;
mod ready;
mod recap;
mod revision;
mod similar;
mod tree;
mod validate;
mod work_graph;
mod workers;

pub use blocked::Blocked;
pub use clock_skew::ClockSkew;
pub use count::{CountBy, Group, Summary};
pub use diff::{Difference, DifferenceKind};
pub use drawing::{Drawing, DrawingRequest};
pub use epics::EpicStatus;
pub use explain::{Explanation, NotReady, Reason};
pub use filter::{Filter, StatusFilter};
pub use impact::Impact;
pub use labels::LabelCount;
pub use list::{Sort, SortKey};
pub use lost_work::{DoneTwice, Undelivered};
pub use memories::Memory;
pub use orphans::Orphan;
pub use plan::{LeftOut, MAX_WORKERS, Plan, PlanRequest, Slot};
pub use readiness::Readiness;
pub use ready::{Ready, ReadyFilter};
pub use recap::{
    ClosedWork, CreatedWork, FailedWork, Keystone, LostWrite, PersonNeed, Recap, RecapSources, ReclaimedWork,
    SyncOutage, WaitsForPerson,
};
pub use tree::{Direction, TreeRow};
pub use validate::{Finding, Severity};
pub use workers::{HeldBead, SessionSign, WorkSources, Worker, WorkerSession, WorkerState};
