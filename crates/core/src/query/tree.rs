use serde::{Deserialize, Serialize};

use crate::limits::{MAX_TREE_DEPTH, MAX_TREE_ROWS};
use crate::{Catalog, EdgeKind, Lineage};

/// Which way a tree or a list of dependencies looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// What the bead waits for.
    #[default]
    Down,
    /// What waits for the bead.
    Up,
}

/// One row of a tree, in the order in which it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    pub lineage: Lineage,
    pub depth: usize,
    /// The edge by which the row hangs on the row above it; `None` for the root.
    pub kind: Option<EdgeKind>,
    /// The last row under its parent: where a drawn branch ends.
    pub last: bool,
    /// Further rows were left out here: a cycle, or a bound.
    pub cut: bool,
}

impl Catalog {
    /// Blockers and children (or, looking up, dependents and parents) of a bead, unfolded into a tree.
    pub fn tree(&self, root: &Lineage, direction: Direction, max_depth: Option<usize>) -> Vec<TreeRow> {
        let max_depth = max_depth.unwrap_or(MAX_TREE_DEPTH).min(MAX_TREE_DEPTH);
        let mut rows: Vec<TreeRow> = Vec::new();
        // Rows still to print, the next one on top, each with the beads above it.
        let mut stack = vec![(
            TreeRow { lineage: root.clone(), depth: 0, kind: None, last: true, cut: false },
            Vec::<Lineage>::new(),
        )];
        while let Some((mut row, above)) = stack.pop() {
            let branches = self.branches(&row.lineage, direction);
            let full = rows.len() + stack.len() + branches.len() >= MAX_TREE_ROWS;
            let cycle = above.contains(&row.lineage);
            row.cut = !branches.is_empty() && (cycle || full || row.depth >= max_depth);
            if !row.cut {
                let mut below = above;
                below.push(row.lineage.clone());
                for (index, (kind, lineage)) in branches.into_iter().rev().enumerate() {
                    let depth = row.depth + 1;
                    let branch = TreeRow { lineage, depth, kind: Some(kind), last: index == 0, cut: false };
                    stack.push((branch, below.clone()));
                }
            }
            rows.push(row);
        }
        rows
    }

    fn branches(&self, lineage: &Lineage, direction: Direction) -> Vec<(EdgeKind, Lineage)> {
        let blocks: Vec<_> = match direction {
            Direction::Down => self.targets(lineage, EdgeKind::Blocks).cloned().collect(),
            Direction::Up => self.sources(lineage, EdgeKind::Blocks).cloned().collect(),
        };
        let family: Vec<_> = match direction {
            Direction::Down => self.sources(lineage, EdgeKind::Parent).cloned().collect(),
            Direction::Up => self.targets(lineage, EdgeKind::Parent).cloned().collect(),
        };
        let blocks = blocks.into_iter().map(|end| (EdgeKind::Blocks, end));
        let family = family.into_iter().map(|end| (EdgeKind::Parent, end));
        blocks.chain(family).filter(|(_, end)| self.live_bead(end).is_some()).collect()
    }
}
