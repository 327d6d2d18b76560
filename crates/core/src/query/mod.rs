//! Questions a catalog answers. Each is a file.

mod blocked;
mod count;
mod cycles;
mod epics;
mod filter;
mod labels;
mod list;
mod ready;
mod tree;
mod validate;

pub use blocked::Blocked;
pub use count::{CountBy, Group, Summary};
pub use epics::EpicStatus;
pub use filter::{Filter, StatusFilter};
pub use labels::LabelCount;
pub use list::{Sort, SortKey};
pub use ready::{Ready, ReadyFilter};
pub use tree::{Direction, TreeRow};
pub use validate::{Finding, Severity};
