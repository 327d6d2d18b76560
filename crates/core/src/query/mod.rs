//! Questions a catalog answers. Each is a file.

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
mod labels;
mod list;
mod orphans;
mod plan;
mod ready;
mod similar;
mod tree;
mod validate;
mod work_graph;

pub use blocked::Blocked;
pub use clock_skew::ClockSkew;
pub use count::{CountBy, Group, Summary};
pub use diff::{Difference, DifferenceKind};
pub use drawing::{Drawing, DrawingOf};
pub use epics::EpicStatus;
pub use explain::{Explanation, NotReady, Reason};
pub use filter::{Filter, StatusFilter};
pub use impact::Impact;
pub use labels::LabelCount;
pub use list::{Sort, SortKey};
pub use orphans::Orphan;
pub use plan::{LeftOut, MAX_WORKERS, Plan, PlanFor, Slot};
pub use ready::{Ready, ReadyFilter};
pub use tree::{Direction, TreeRow};
pub use validate::{Finding, Severity};
