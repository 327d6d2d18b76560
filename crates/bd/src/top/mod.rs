//! `bd top`: what the agents do now, on a terminal. The same order, words and keys as the view *Now* of the board.
//!
//! A [`Snapshot`] is what the store says, a [`Screen`] adds what the reader does, `draw` turns both into a
//! frame, and [`run`] connects them with the terminal.

mod agents;
mod beads;
mod draw;
mod epics;
mod input;
mod live;
mod matter;
mod needs_view;
mod night;
mod night_view;
mod now_view;
mod outcome;
mod rows;
mod screen;
mod snapshot;
#[cfg(test)]
mod tests;
mod timetable;
mod wording;

use beads_engine::failure::Failure;
use beads_engine::request::Call;
use serde_json::Value;

pub use draw::{Look, text};
pub use live::run;
pub use screen::Screen;
pub use snapshot::Snapshot;

/// The store that is shown, and who looks at it.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The name of the store.
    pub name: String,
    /// This machine.
    pub host: String,
    /// The reader.
    pub actor: String,
}

/// The store that is shown.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Returns the answer to a call.
    fn ask(&self, call: Call) -> Result<Value, Failure>;

    /// Returns the answer to a call as text of this width.
    fn text(&self, call: Call, width: usize) -> Result<String, Failure>;

    /// Returns which store this is.
    fn about(&self) -> Result<About, Failure>;

    /// Returns the clock of the reader.
    fn clock(&self) -> beads_engine::request::LocalClock;
}
