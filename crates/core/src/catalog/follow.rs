//! Moves a catalog to another copy of its state, so that a reader that comes back does not index everything again.

use crate::shared_map::differing;
use crate::{Catalog, SharedBead, State, Touched};

impl Catalog {
    /// Replaces the state by an earlier or later copy of it and updates the indexes of what differs.
    ///
    /// The result is the same as that of [`Catalog::from`], and the cost is in proportion to the difference as
    /// long as the copies share most of their entries.
    pub fn follow(&mut self, state: State) {
        if self.state.settings() != state.settings() {
            // The meaning of custom words may have changed.
            *self = Self::from(state);
            return;
        }
        let touched = Touched {
            beads: differing(&state.beads, &self.state.beads, SharedBead::is_same_copy)
                .into_iter()
                .cloned()
                .collect(),
            edges: differing(&state.edges, &self.state.edges, PartialEq::eq).into_iter().cloned().collect(),
        };
        self.restore(&touched, |before| *before = state);
    }
}
