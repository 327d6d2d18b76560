//! Places a graph on a grid: columns are steps, bands are epics. The shared layout orders the nodes of a
//! column; edges run in the gaps between columns and between rows, so none runs behind a node.

use std::collections::{BTreeMap, BTreeSet};

use beads_engine::graph_layout::{Edge, Node, Spacing, layout};
use serde::Serialize;

/// The width and height of a node.
pub const NODE: (i64, i64) = (158, 52);

/// The gaps between columns and between rows.
const GAPS: (i64, i64) = (52, 14);

/// The height of a band's label, and the space below its last row.
const LABEL: i64 = 22;
const BELOW: i64 = 14;

/// The space left of the first column, for edges of cycles that lead back to it.
const LEFT: i64 = 26;

/// The space above the first band, for the names of the steps.
const TOP: i64 = 22;

/// The space for the outline of a node at the sides of the drawing.
const BORDER: i64 = 2;

/// How many parallel lines fit between two rows.
const ROW_LANES: i64 = 4;

/// The nodes of one epic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The epic; absent for beads without one.
    pub epic: Option<String>,
    pub y: i64,
    pub height: i64,
    /// The left edge of its first node.
    pub x: i64,
}

/// Where everything goes.
#[derive(Debug)]
pub struct Placed {
    pub nodes: Vec<(i64, i64)>,
    pub routes: Vec<Vec<(i64, i64)>>,
    pub bands: Vec<Band>,
    pub columns: Vec<i64>,
    pub size: (i64, i64),
}

/// The cell of a node.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    column: usize,
    /// The row, counted over all bands.
    row: usize,
    y: i64,
}

/// Places the nodes and routes the edges. `critical` nodes come first.
pub fn place(
    layers: &[usize],
    epics: &[Option<String>],
    critical: &[bool],
    edges: &[(usize, usize)],
) -> Placed {
    let order = vertical_order(layers, edges);
    let mut groups: BTreeMap<Option<&String>, Vec<usize>> = BTreeMap::new();
    for (node, epic) in epics.iter().enumerate() {
        groups.entry(epic.as_ref()).or_default().push(node);
    }
    let mut groups: Vec<(Option<&String>, Vec<usize>)> = groups.into_iter().collect();
    groups.sort_by_key(|(epic, nodes)| {
        let first_critical = nodes.iter().filter(|node| critical[**node]).map(|node| layers[*node]).min();
        (epic.is_none(), first_critical.unwrap_or(usize::MAX), usize::MAX - nodes.len(), *epic)
    });
    let mut cells = vec![Cell::default(); layers.len()];
    let (mut bands, mut y, mut first_row) = (Vec::new(), TOP, 0);
    for (epic, nodes) in groups {
        let rows = rows_of(&nodes, layers, &order, edges);
        let count = rows.values().max().map_or(0, |row| row + 1);
        for (node, row) in &rows {
            let top = y + LABEL + int(*row) * (NODE.1 + GAPS.1);
            cells[*node] = Cell { column: layers[*node], row: first_row + row, y: top };
        }
        let height = LABEL + int(count) * (NODE.1 + GAPS.1) - GAPS.1 + BELOW;
        let first = nodes.iter().map(|node| layers[*node]).min().unwrap_or_default();
        bands.push(Band { epic: epic.cloned(), y, height, x: left_of(first) });
        y += height;
        first_row += count;
    }
    let count = layers.iter().max().map_or(0, |last| last + 1);
    let placed = Placed {
        nodes: cells.iter().map(|cell| (left_of(cell.column), cell.y)).collect(),
        routes: routes(&cells, edges),
        bands,
        columns: (0..count).map(left_of).collect(),
        size: (left_of(count), y),
    };
    trimmed(placed)
}

/// Removes the unused space at both sides: most graphs have no edge left of their first column or right of
/// their last.
fn trimmed(mut placed: Placed) -> Placed {
    let routed = || placed.routes.iter().flatten().map(|(x, _)| *x);
    let left = placed.nodes.iter().map(|(x, _)| *x).chain(routed()).min().unwrap_or_default() - BORDER;
    let right = placed.nodes.iter().map(|(x, _)| x + NODE.0).chain(routed()).max().unwrap_or_default();
    placed.size.0 = right + BORDER - left;
    let moved = placed.nodes.iter_mut().chain(placed.routes.iter_mut().flatten()).map(|point| &mut point.0);
    for x in moved.chain(&mut placed.columns).chain(placed.bands.iter_mut().map(|band| &mut band.x)) {
        *x -= left;
    }
    placed
}

/// Returns the position of each node in the vertical order of the shared layout, which avoids crossings.
fn vertical_order(layers: &[usize], edges: &[(usize, usize)]) -> Vec<i64> {
    let nodes: Vec<Node> = layers.iter().map(|layer| Node { layer: *layer, size: NODE }).collect();
    let edges: Vec<Edge> = edges.iter().map(|(from, to)| Edge { from: *from, to: *to }).collect();
    let spacing = Spacing { columns: GAPS.0, rows: GAPS.1, margin: 0, lane: 4 };
    layout(&nodes, &edges, &spacing).places.iter().map(|place| place.corner.1).collect()
}

/// Gives each node of a band a row. A node is at least as far down as the first node of the band that it
/// waits for.
fn rows_of(
    nodes: &[usize],
    layers: &[usize],
    order: &[i64],
    edges: &[(usize, usize)],
) -> BTreeMap<usize, usize> {
    let mut sorted = nodes.to_vec();
    sorted.sort_by_key(|node| (layers[*node], order[*node], *node));
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    for node in sorted {
        let before = edges.iter().filter(|(_, to)| *to == node).filter_map(|(from, _)| rows.get(from)).min();
        let first = before.copied().unwrap_or_default();
        let free = (first..).find(|row| !taken.contains(&(layers[node], *row))).unwrap_or(first);
        taken.insert((layers[node], free));
        rows.insert(node, free);
    }
    rows
}

fn routes(cells: &[Cell], edges: &[(usize, usize)]) -> Vec<Vec<(i64, i64)>> {
    let occupied: BTreeSet<(usize, usize)> = cells.iter().map(|cell| (cell.column, cell.row)).collect();
    // The edges of one node leave it in one lane and reach it in one lane.
    let mut leaving: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut arriving: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (from, to) in edges {
        leaving.entry(cells[*from].column).or_default().insert(*from);
        arriving.entry(cells[*to].column).or_default().insert(*to);
    }
    let lane = |lanes: &BTreeMap<usize, BTreeSet<usize>>, column: usize, node: usize| {
        let all = lanes.get(&column).map(BTreeSet::len).unwrap_or_default().max(1);
        let number = lanes.get(&column).into_iter().flatten().take_while(|other| **other != node).count();
        let room = GAPS.0 / 2 - 6;
        room * int(number) / int(all)
    };
    let route = |(number, (from, to)): (usize, &(usize, usize))| {
        let (start, end) = (cells[*from], cells[*to]);
        let (x1, y1) = (left_of(start.column) + NODE.0, start.y + NODE.1 / 2);
        let (x2, y2) = (left_of(end.column), end.y + NODE.1 / 2);
        let out = x1 + 6 + lane(&leaving, start.column, *from);
        let passes_no_node =
            (start.column + 1..end.column).all(|column| !occupied.contains(&(column, end.row)));
        if end.column > start.column && passes_no_node {
            return if y1 == y2 {
                vec![(x1, y1), (x2, y2)]
            } else {
                vec![(x1, y1), (out, y1), (out, y2), (x2, y2)]
            };
        }
        let gutter = end.y + NODE.1 + 3 + (int(number) % ROW_LANES) * (GAPS.1 - 6) / ROW_LANES;
        let into = x2 - 8 - lane(&arriving, end.column, *to).min(LEFT - 10);
        vec![(x1, y1), (out, y1), (out, gutter), (into, gutter), (into, y2), (x2, y2)]
    };
    edges.iter().enumerate().map(route).collect()
}

fn left_of(column: usize) -> i64 {
    LEFT + int(column) * (NODE.0 + GAPS.0)
}

fn int(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
