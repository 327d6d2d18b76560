use serde::{Deserialize, Serialize};

use crate::limits::{MAX_TREE_DEPTH, MAX_TREE_ROWS};
use crate::{Catalog, EdgeKind, Lineage};

/// The direction in which to follow dependencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the beads that the bead waits for.
    #[default]
    Down,
    /// To the beads that wait for the bead.
    Up,
}

/// One row of a printed dependency tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow {
    /// The bead.
    pub lineage: Lineage,
    /// The distance from the root.
    pub depth: usize,
    /// The kind of the edge to its parent row; `None` for the root.
    pub kind: Option<EdgeKind>,
    /// Whether it is the last row below its parent row.
    pub last: bool,
    /// Whether rows below it were left out, because of a cycle or a limit.
    pub cut: bool,
}

impl Catalog {
    /// Returns the blockers and children of a bead as a tree, or with [`Direction::Up`] its dependents and
    /// parents.
    pub fn tree(&self, root: &Lineage, direction: Direction, max_depth: Option<usize>) -> Vec<TreeRow> {
        let max_depth = max_depth.unwrap_or(MAX_TREE_DEPTH).min(MAX_TREE_DEPTH);
        let mut rows: Vec<TreeRow> = Vec::new();
        // Rows to print, each with its ancestors. The next row is on top of the stack.
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
