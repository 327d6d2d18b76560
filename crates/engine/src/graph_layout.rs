//! Computes where the beads and edges of a drawing go. Pure: the same nodes and edges always get the same
//! places. Every front end that draws graphs uses it.
//!
//! Work flows from left to right, with one column per layer. An edge that passes a column has a slot of its own
//! there, as a bead does. All other parts of edges are in the gaps between columns. So no edge crosses a box.

use std::collections::BTreeSet;

/// A point of a drawing. The origin is the upper left corner.
pub type Point = (i64, i64);

/// A box to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its layer. Layers may be numbered with gaps.
    pub layer: usize,
    /// Its width and height.
    pub size: (i64, i64),
}

/// An arrow between two nodes, which are given by their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where the arrow begins.
    pub from: usize,
    /// Where the arrow ends.
    pub to: usize,
}

/// Distances in a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    /// Between the columns. Edges turn here.
    pub columns: i64,
    /// Between the boxes of a column.
    pub rows: i64,
    /// Around the drawing.
    pub margin: i64,
    /// Between parallel edges.
    pub lane: i64,
}

/// A placed box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its upper left corner.
    pub corner: Point,
    /// Its width and height.
    pub size: (i64, i64),
}

impl Place {
    fn middle(&self) -> i64 {
        self.corner.1 + self.size.1 / 2
    }

    fn right(&self) -> i64 {
        self.corner.0 + self.size.0
    }
}

/// A finished layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The boxes, in the order of the nodes.
    pub places: Vec<Place>,
    /// The corners of each edge from its beginning to its end, in the order of the edges.
    pub routes: Vec<Vec<Point>>,
    /// The width and height of the drawing, with its margins.
    pub size: (i64, i64),
}

/// How often the columns are sorted and aligned by their neighbours. More sweeps change little.
const SWEEPS: usize = 6;

/// The maximum number of slots for edges in columns. If more are needed, long edges run below all boxes
/// instead: such a drawing is unreadable anyway, but must not take all memory.
const MAX_SLOTS: usize = 20_000;

/// How many parallel lanes fit into a gap before they are reused.
const LANES: i64 = 6;

/// Places the nodes and routes the edges.
pub fn layout(nodes: &[Node], edges: &[Edge], spacing: &Spacing) -> Layout {
    let mut grid = Grid::new(nodes, edges, spacing);
    for sweep in 0..SWEEPS {
        grid.sort(sweep % 2 == 0);
    }
    grid.stack();
    for sweep in 0..SWEEPS {
        grid.align(sweep % 2 == 0);
    }
    grid.finish(nodes, edges)
}

/// A node, or a place where an edge passes a column.
#[derive(Debug, Clone)]
struct Item {
    column: usize,
    height: i64,
    /// The position in its column.
    row: usize,
    /// The upper end.
    top: i64,
    /// The items in the column before it that it is connected with, and those in the column after it.
    before: Vec<usize>,
    after: Vec<usize>,
}

impl Item {
    fn new(column: usize, height: i64) -> Self {
        Self { column, height, row: 0, top: 0, before: Vec::new(), after: Vec::new() }
    }

    fn middle(&self) -> i64 {
        self.top + self.height / 2
    }
}

/// The columns while they are being arranged.
#[derive(Debug)]
struct Grid<'a> {
    spacing: &'a Spacing,
    /// The nodes, then the slots of edges.
    items: Vec<Item>,
    /// The items of each column, from top to bottom.
    columns: Vec<Vec<usize>>,
    /// The left end and the width of each column.
    spans: Vec<(i64, i64)>,
    /// The slots of each edge from left to right; `None` if it runs below all boxes.
    slots: Vec<Option<Vec<usize>>>,
    slot_count: usize,
}

impl<'a> Grid<'a> {
    fn new(nodes: &[Node], edges: &[Edge], spacing: &'a Spacing) -> Self {
        let layers: BTreeSet<usize> = nodes.iter().map(|node| node.layer).collect();
        let layers: Vec<usize> = layers.into_iter().collect();
        let column_of = |node: &Node| layers.binary_search(&node.layer).unwrap_or_default();
        let mut spans = vec![(0, 0); layers.len()];
        let mut items = Vec::with_capacity(nodes.len());
        for node in nodes {
            let column = column_of(node);
            spans[column].1 = node.size.0.max(spans[column].1);
            items.push(Item::new(column, node.size.1));
        }
        let mut left = spacing.margin;
        for span in &mut spans {
            span.0 = left;
            left += span.1 + spacing.columns;
        }
        let columns = vec![Vec::new(); layers.len()];
        let mut grid = Self { spacing, items, columns, spans, slots: Vec::new(), slot_count: 0 };
        edges.iter().for_each(|edge| grid.add_edge(*edge));
        for (index, item) in grid.items.iter_mut().enumerate() {
            item.row = grid.columns[item.column].len();
            grid.columns[item.column].push(index);
        }
        grid
    }

    /// Connects two nodes through slots in the columns between them.
    fn add_edge(&mut self, edge: Edge) {
        let (left, right) = self.left_to_right(edge);
        let (first, last) = (self.items[left].column, self.items[right].column);
        if first == last {
            return self.slots.push(Some(Vec::new()));
        }
        if last - first > 1 && self.slot_count + (last - first) > MAX_SLOTS {
            return self.slots.push(None);
        }
        let mut slots = Vec::new();
        let mut before = left;
        for column in first + 1..=last {
            let next = if column == last { right } else { self.items.len() };
            if column < last {
                self.items.push(Item::new(column, self.spacing.lane));
                slots.push(next);
            }
            self.items[before].after.push(next);
            self.items[next].before.push(before);
            before = next;
        }
        self.slot_count += slots.len();
        self.slots.push(Some(slots));
    }

    /// Returns the ends of an edge, the left one first.
    fn left_to_right(&self, edge: Edge) -> (usize, usize) {
        let is_backward = self.items[edge.from].column > self.items[edge.to].column;
        if is_backward { (edge.to, edge.from) } else { (edge.from, edge.to) }
    }

    /// Returns the columns in the order of a sweep.
    fn order(&self, rightward: bool) -> Vec<usize> {
        let columns = 0..self.columns.len();
        if rightward { columns.collect() } else { columns.rev().collect() }
    }

    /// Sorts each column by the mean row of the neighbours on one side. Items without any keep their row.
    fn sort(&mut self, rightward: bool) {
        for column in self.order(rightward) {
            let mut rows = std::mem::take(&mut self.columns[column]);
            // In integer thousandths, so that the order does not depend on rounding.
            rows.sort_by_cached_key(|&index| {
                let item = &self.items[index];
                let near = if rightward { &item.before } else { &item.after };
                match near.len() {
                    0 => item.row * 1_000,
                    count => near.iter().map(|&other| self.items[other].row).sum::<usize>() * 1_000 / count,
                }
            });
            rows.iter().enumerate().for_each(|(row, &index)| self.items[index].row = row);
            self.columns[column] = rows;
        }
    }

    /// Places the items of each column below each other.
    fn stack(&mut self) {
        for column in &self.columns {
            let mut top = 0;
            for &index in column {
                self.items[index].top = top;
                top += self.items[index].height + self.spacing.rows;
            }
        }
    }

    /// Moves the items of each column towards their neighbours on one side, in the same order and with the
    /// same distances at least.
    fn align(&mut self, rightward: bool) {
        for column in self.order(rightward) {
            let rows = std::mem::take(&mut self.columns[column]);
            let (mut free, mut off, mut aligned) = (i64::MIN, 0, 0);
            for &index in &rows {
                let item = &self.items[index];
                let near = if rightward { &item.before } else { &item.after };
                let count = i64::try_from(near.len()).unwrap_or(i64::MAX);
                let wanted = match count {
                    0 => item.top,
                    _ => {
                        near.iter().map(|&other| self.items[other].middle()).sum::<i64>() / count
                            - item.height / 2
                    }
                };
                let top = wanted.max(free);
                if count > 0 {
                    (off, aligned) = (off + top - wanted, aligned + 1);
                }
                free = top + item.height + self.spacing.rows;
                self.items[index].top = top;
            }
            // Items were only pushed down. Moving the whole column up spreads the error.
            let up = if aligned == 0 { 0 } else { off / aligned };
            rows.iter().for_each(|&index| self.items[index].top -= up);
            self.columns[column] = rows;
        }
    }

    fn finish(mut self, nodes: &[Node], edges: &[Edge]) -> Layout {
        let highest = self.items.iter().map(|item| item.top).min().unwrap_or(0);
        let down = self.spacing.margin - highest;
        self.items.iter_mut().for_each(|item| item.top += down);
        let lowest = self.items.iter().map(|item| item.top + item.height).max().unwrap_or(0);
        let place = |(node, item): (&Node, &Item)| Place {
            corner: (self.spans[item.column].0, item.top),
            size: node.size,
        };
        let places: Vec<Place> = nodes.iter().zip(&self.items).map(place).collect();
        let mut below = lowest;
        let mut routes = Vec::with_capacity(edges.len());
        for (number, edge) in edges.iter().enumerate() {
            let (left, right) = self.left_to_right(*edge);
            let lane = self.lane(number);
            let ends = (&places[left], &places[right]);
            let mut route = match &self.slots[number] {
                _ if self.items[left].column == self.items[right].column => self.beside(ends, lane),
                Some(slots) => self.through(ends, slots),
                None => {
                    below += self.spacing.lane;
                    self.below(ends, lane, below)
                }
            };
            if left != edge.from {
                route.reverse();
            }
            routes.push(route);
        }
        let width = self.spans.last().map_or(0, |(left, width)| left + width) + self.spacing.columns;
        Layout { places, routes, size: (width + self.spacing.margin, below + self.spacing.margin) }
    }

    /// Returns how far from a column a vertical part of an edge is, inside the gap.
    fn lane(&self, number: usize) -> i64 {
        let lane = i64::try_from(number).unwrap_or_default() % LANES + 1;
        self.spacing.columns * lane / (LANES + 2)
    }

    /// Returns the right end of the column of a place.
    fn column_right(&self, place: &Place) -> i64 {
        let span = self.spans.iter().find(|span| span.0 == place.corner.0);
        span.map_or(place.right(), |span| span.0 + span.1)
    }

    /// Routes an edge through its slots.
    fn through(&self, (left, right): (&Place, &Place), slots: &[usize]) -> Vec<Point> {
        let mut route = vec![(left.right(), left.middle())];
        if self.column_right(left) > left.right() {
            route.push((self.column_right(left), left.middle()));
        }
        for &slot in slots {
            let (x, width) = self.spans[self.items[slot].column];
            let y = self.items[slot].middle();
            route.extend([(x, y), (x + width, y)]);
        }
        route.push((right.corner.0, right.middle()));
        route
    }

    /// Routes an edge between two boxes of a column, through the gap to the right.
    fn beside(&self, (first, second): (&Place, &Place), lane: i64) -> Vec<Point> {
        let x = self.column_right(first) + lane;
        // An edge from a box to itself leaves above the middle and comes back below it.
        let apart = if first == second { first.size.1 / 4 } else { 0 };
        let (start, end) = (first.middle() - apart, second.middle() + apart);
        vec![(first.right(), start), (x, start), (x, end), (second.right(), end)]
    }

    /// Routes an edge below all boxes, at height `y`.
    fn below(&self, (left, right): (&Place, &Place), lane: i64, y: i64) -> Vec<Point> {
        let (down, up) = (self.column_right(left) + lane, right.corner.0 - lane);
        vec![
            (left.right(), left.middle()),
            (down, left.middle()),
            (down, y),
            (up, y),
            (up, right.middle()),
            (right.corner.0, right.middle()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPACING: Spacing = Spacing { columns: 70, rows: 18, margin: 20, lane: 8 };

    /// Returns whether a segment passes through the inside of a box. Touching the border is allowed.
    fn crosses((start, end): (Point, Point), place: &Place) -> bool {
        let (x, y) = place.corner;
        let (width, height) = place.size;
        // Clips the segment to the box. Its parameters are fractions, compared exactly by cross-multiplication.
        let (mut enter, mut leave) = ((0_i128, 1_i128), (1_i128, 1_i128));
        let less = |a: (i128, i128), b: (i128, i128)| a.0 * b.1 < b.0 * a.1;
        for (from, to, low, high) in [(start.0, end.0, x, x + width), (start.1, end.1, y, y + height)] {
            let (from, to, low, high) = (i128::from(from), i128::from(to), i128::from(low), i128::from(high));
            let delta = to - from;
            if delta == 0 {
                if from <= low || from >= high {
                    return false;
                }
                continue;
            }
            let (near, far) = if delta > 0 { (low, high) } else { (high, low) };
            let fraction = |at: i128| ((at - from) * delta.signum(), delta.abs());
            if less(enter, fraction(near)) {
                enter = fraction(near);
            }
            if less(fraction(far), leave) {
                leave = fraction(far);
            }
        }
        less(enter, leave)
    }

    fn overlap(one: &Place, other: &Place) -> bool {
        let apart = |a: i64, length: i64, b: i64, other: i64| a + length <= b || b + other <= a;
        !apart(one.corner.0, one.size.0, other.corner.0, other.size.0)
            && !apart(one.corner.1, one.size.1, other.corner.1, other.size.1)
    }

    /// Checks that no edge crosses a box, that no two boxes overlap, and that everything is on the page.
    fn check(nodes: &[Node], edges: &[Edge]) {
        let layout = layout(nodes, edges, &SPACING);
        assert_eq!(layout, super::layout(nodes, edges, &SPACING), "the layout is deterministic");
        for (number, place) in layout.places.iter().enumerate() {
            for (other_number, other) in layout.places.iter().enumerate().skip(number + 1) {
                assert!(!overlap(place, other), "{number} and {other_number} overlap: {layout:?}");
            }
        }
        for (edge, route) in edges.iter().zip(&layout.routes) {
            for segment in route.windows(2) {
                let crossed = layout.places.iter().position(|place| crosses((segment[0], segment[1]), place));
                assert_eq!(crossed, None, "{edge:?} runs behind a box at {segment:?}");
            }
            let on_border = |end: usize, point: Point| {
                let place = &layout.places[end];
                let is_side = point.0 == place.corner.0 || point.0 == place.right();
                is_side && (place.corner.1..=place.corner.1 + place.size.1).contains(&point.1)
            };
            assert!(on_border(edge.from, route[0]) && on_border(edge.to, route[route.len() - 1]), "{edge:?}");
            let is_inside =
                |(x, y): &Point| (0..=layout.size.0).contains(x) && (0..=layout.size.1).contains(y);
            assert!(route.iter().all(is_inside), "{edge:?} leaves the page: {route:?}");
        }
    }

    fn graph() -> impl Strategy<Value = (Vec<Node>, Vec<Edge>)> {
        let node = (0_usize..6, 40_i64..220, 20_i64..60)
            .prop_map(|(layer, width, height)| Node { layer: layer * 2, size: (width, height) });
        proptest::collection::vec(node, 1..25).prop_flat_map(|nodes| {
            let ends = 0..nodes.len();
            let edge = (ends.clone(), ends).prop_map(|(from, to)| Edge { from, to });
            (Just(nodes), proptest::collection::vec(edge, 0..60))
        })
    }

    proptest! {
        #[test]
        fn no_edge_crosses_a_box_and_no_boxes_overlap((nodes, edges) in graph()) {
            check(&nodes, &edges);
        }
    }

    /// In the drawing of an earlier version, the edge from the first to the last column ran behind the box
    /// between them, and read as two dependencies.
    #[test]
    fn an_edge_over_several_columns_goes_around_the_boxes_between() {
        let node = |layer| Node { layer, size: (220, 46) };
        let edges = [(0, 1), (1, 2), (0, 2)].map(|(from, to)| Edge { from, to });
        check(&[node(0), node(1), node(2)], &edges);
    }

    #[test]
    fn too_many_long_edges_run_below_all_boxes() {
        let nodes: Vec<Node> = (0..150).map(|layer| Node { layer, size: (100, 40) }).collect();
        let edges: Vec<Edge> =
            (0..300).map(|number| Edge { from: number % 20, to: 149 - number % 7 }).collect();
        check(&nodes, &edges);
        let layout = layout(&nodes, &edges, &SPACING);
        let lowest = layout.places.iter().map(|place| place.corner.1 + place.size.1).max().unwrap();
        let is_below = |route: &&Vec<Point>| route.len() == 6 && route[2].1 > lowest;
        assert!(layout.routes.iter().filter(is_below).count() > 100);
    }

    #[test]
    fn an_empty_graph_has_no_places() {
        assert!(layout(&[], &[], &SPACING).places.is_empty());
    }
}
