//! The graph of the board: which beads and edges are drawn. Closed and unlinked beads and edges that follow
//! from others are left out and counted; large graphs fold their epics. `grid` says where everything goes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use beads_engine::failure::Failure;
use beads_engine::request::{Call, GraphFormat, Query};
use serde::{Deserialize, Serialize};

use super::grid::{self, Band, Placed};
use super::store::StoreClient;

/// More nodes than this are unreadable: epics are folded, and what still remains is cut.
const MAX_NODES: usize = 150;

/// The answer of `bd graph`, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Drawing {
    nodes: Vec<DrawnBead>,
    edges: Vec<DrawnEdge>,
    critical_path: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct DrawnBead {
    id: String,
    issue_type: String,
}

#[derive(Debug, Deserialize)]
struct DrawnEdge {
    from: String,
    to: String,
    kind: String,
}

/// A graph and where everything goes.
#[derive(Debug, Serialize)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    bands: Vec<Band>,
    /// The left edge of each column.
    columns: Vec<i64>,
    size: (i64, i64),
    /// The width and height of a node.
    node_size: (i64, i64),
    critical_path: Vec<String>,
    /// Beads without an edge.
    unlinked: usize,
    /// Edges that follow from others.
    implied: usize,
    /// Beads that did not fit, and all that have edges.
    cut: usize,
    linked: usize,
}

/// A bead, or a folded epic.
#[derive(Debug, Serialize)]
struct Node {
    id: String,
    /// The number of beads in a folded epic.
    #[serde(skip_serializing_if = "Option::is_none")]
    folded: Option<usize>,
    layer: usize,
    at: (i64, i64),
    critical: bool,
}

/// An edge from a bead to one that waits for it.
#[derive(Debug, Serialize)]
struct Edge {
    from: String,
    to: String,
    critical: bool,
    /// Whether it is part of a cycle.
    cycle: bool,
    points: Vec<(i64, i64)>,
}

/// Asks for the graph and places it.
pub fn graph(
    store: &StoreClient,
    around: Option<String>,
    closed: bool,
    open: &[&str],
) -> Result<Graph, Failure> {
    let query = Query::Graph { id: around, closed, format: GraphFormat::Text };
    let drawing: Drawing = store.value(Call::query(query))?;
    Ok(draw(&drawing, open))
}

/// The chosen nodes and edges, by number.
#[derive(Debug, Default)]
struct Chosen {
    names: Vec<String>,
    /// The number of beads in each folded epic.
    folded: Vec<Option<usize>>,
    /// The epic of each node.
    epics: Vec<Option<String>>,
    /// From the blocker to the bead that waits for it.
    edges: BTreeSet<(usize, usize)>,
    /// The nodes of the critical path, in order. A folded epic stands for its beads.
    critical: Vec<usize>,
}

fn draw(drawing: &Drawing, open: &[&str]) -> Graph {
    let epics = epics_of(drawing);
    let blocks: Vec<(&str, &str)> = drawing
        .edges
        .iter()
        .filter(|edge| edge.kind == "blocks")
        .map(|edge| (edge.to.as_str(), edge.from.as_str()))
        .collect();
    let linked: BTreeSet<&str> = blocks.iter().flat_map(|(before, after)| [*before, *after]).collect();
    let is_work = |bead: &&DrawnBead| bead.issue_type != "epic";
    let unlinked =
        drawing.nodes.iter().filter(is_work).filter(|bead| !linked.contains(bead.id.as_str())).count();
    let critical: Vec<&str> = drawing.critical_path.iter().map(String::as_str).collect();
    let (mut chosen, cut) = choose(&linked, &blocks, &epics, open, &critical);
    let layers = layers(&chosen);
    let implied = reduce(&mut chosen, &layers);
    place(&chosen, &layers, &critical, (unlinked, implied, cut, linked.len()))
}

/// Returns the topmost ancestor of each bead.
fn epics_of<'a>(drawing: &'a Drawing) -> BTreeMap<&'a str, &'a str> {
    let parents: BTreeMap<&'a str, &'a str> = drawing
        .edges
        .iter()
        .filter(|edge| edge.kind == "parent")
        .map(|edge| (edge.from.as_str(), edge.to.as_str()))
        .collect();
    let top = |start: &'a str| {
        let (mut at, mut seen) = (start, BTreeSet::from([start]));
        while let Some(next) = parents.get(at).filter(|next| seen.insert(next)) {
            at = next;
        }
        at
    };
    parents.keys().map(|id| (*id, top(id))).collect()
}

/// Chooses the nodes: all linked beads, with epics folded if there are too many. Returns how many were cut.
fn choose(
    linked: &BTreeSet<&str>,
    blocks: &[(&str, &str)],
    epics: &BTreeMap<&str, &str>,
    open: &[&str],
    critical: &[&str],
) -> (Chosen, usize) {
    let fold = linked.len() > MAX_NODES;
    let node_of = |id: &str| -> (String, bool) {
        match epics.get(id) {
            Some(epic) if fold && !open.contains(epic) => ((*epic).to_owned(), true),
            _ => (id.to_owned(), false),
        }
    };
    let mut members: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    for id in linked {
        let (name, folded) = node_of(id);
        let entry = members.entry(name).or_insert((0, folded));
        entry.0 += 1;
    }
    // What is on the critical path is kept first, then folded epics, then the rest by id.
    let important: BTreeSet<String> = critical.iter().map(|id| node_of(id).0).collect();
    let mut names: Vec<String> = members.keys().cloned().collect();
    names.sort_by_key(|name| (!important.contains(name), !members[name].1, name.clone()));
    let cut: usize = names.iter().skip(MAX_NODES).map(|name| members[name].0).sum();
    names.truncate(MAX_NODES);
    names.sort();
    let numbers: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(number, name)| (name.as_str(), number)).collect();
    let number = |id: &str| numbers.get(node_of(id).0.as_str()).copied();
    let edges = blocks.iter().filter_map(|(before, after)| Some((number(before)?, number(after)?)));
    let edges = edges.filter(|(before, after)| before != after).collect();
    let folded = names.iter().map(|name| members[name].1.then_some(members[name].0)).collect();
    let epic = |name: &String| {
        if members[name].1 { None } else { epics.get(name.as_str()).map(|e| (*e).to_owned()) }
    };
    let epics = names.iter().map(epic).collect();
    let mut critical: Vec<usize> = critical.iter().filter_map(|id| number(id)).collect();
    critical.dedup();
    (Chosen { folded, epics, edges, critical, names }, cut)
}

/// Returns the step of each node: the longest chain before it. Nodes of a cycle follow what they wait for
/// outside of it.
fn layers(chosen: &Chosen) -> Vec<usize> {
    let count = chosen.names.len();
    let (mut waits, mut layer) = (vec![0_usize; count], vec![0_usize; count]);
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in &chosen.edges {
        waits[*to] += 1;
        after[*from].push(*to);
    }
    let mut done = vec![false; count];
    let mut ready: VecDeque<usize> = (0..count).filter(|node| waits[*node] == 0).collect();
    loop {
        let Some(node) = ready.pop_front() else {
            // Only cycles are left: release the node that waits for the fewest others.
            let Some(next) = (0..count).filter(|node| !done[*node]).min_by_key(|node| waits[*node]) else {
                break;
            };
            ready.push_back(next);
            continue;
        };
        if std::mem::replace(&mut done[node], true) {
            continue;
        }
        for next in after[node].clone() {
            waits[next] = waits[next].saturating_sub(1);
            if !done[next] {
                layer[next] = layer[next].max(layer[node] + 1);
                if waits[next] == 0 {
                    ready.push_back(next);
                }
            }
        }
    }
    layer
}

/// Removes the edges that follow from others. Returns how many.
fn reduce(chosen: &mut Chosen, layers: &[usize]) -> usize {
    let all = chosen.edges.clone();
    let mut after: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in all.iter().filter(|(from, to)| layers[*from] < layers[*to]) {
        after.entry(*from).or_default().push(*to);
    }
    let reaches = |start: usize, goal: usize| {
        let direct = after.get(&start).into_iter().flatten().filter(|next| **next != goal);
        let (mut open, mut seen): (Vec<usize>, BTreeSet<usize>) =
            (direct.copied().collect(), BTreeSet::new());
        while let Some(node) = open.pop() {
            if node == goal {
                return true;
            }
            if seen.insert(node) && layers[node] < layers[goal] {
                open.extend(after.get(&node).into_iter().flatten().copied());
            }
        }
        false
    };
    chosen.edges.retain(|(from, to)| layers[*from] >= layers[*to] || !reaches(*from, *to));
    all.len() - chosen.edges.len()
}

fn place(
    chosen: &Chosen,
    layers: &[usize],
    critical: &[&str],
    (unlinked, implied, cut, linked): (usize, usize, usize, usize),
) -> Graph {
    let steps: BTreeSet<(usize, usize)> = chosen.critical.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let edges: Vec<(usize, usize)> = chosen.edges.iter().copied().collect();
    let marked: Vec<bool> = (0..chosen.names.len()).map(|number| chosen.critical.contains(&number)).collect();
    let Placed { nodes, routes, bands, columns, size } = grid::place(layers, &chosen.epics, &marked, &edges);
    // Two folded epics may wait for each other although no bead waits in a cycle.
    let is_bead = |number: usize| chosen.folded[number].is_none();
    let node = |(number, at): (usize, &(i64, i64))| Node {
        id: chosen.names[number].clone(),
        folded: chosen.folded[number],
        layer: layers[number],
        at: *at,
        critical: marked[number],
    };
    let edge = |((from, to), points): (&(usize, usize), Vec<(i64, i64)>)| Edge {
        from: chosen.names[*from].clone(),
        to: chosen.names[*to].clone(),
        critical: steps.contains(&(*from, *to)),
        cycle: is_bead(*from)
            && is_bead(*to)
            && (layers[*from] >= layers[*to] || chosen.edges.contains(&(*to, *from))),
        points,
    };
    Graph {
        nodes: nodes.iter().enumerate().map(node).collect(),
        edges: edges.iter().zip(routes).map(edge).collect(),
        bands,
        columns,
        size,
        node_size: grid::NODE,
        critical_path: critical.iter().map(|id| (*id).to_owned()).collect(),
        unlinked,
        implied,
        cut,
        linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(edges: &[(&str, &str, &str)], types: &[(&str, &str)]) -> Drawing {
        let ids: BTreeSet<&str> = edges
            .iter()
            .flat_map(|(from, to, _)| [*from, *to])
            .chain(types.iter().map(|one| one.0))
            .collect();
        let kind = |id: &str| types.iter().find(|one| one.0 == id).map_or("task", |one| one.1).to_owned();
        Drawing {
            nodes: ids.iter().map(|id| DrawnBead { id: (*id).to_owned(), issue_type: kind(id) }).collect(),
            edges: edges
                .iter()
                .map(|(from, to, kind)| DrawnEdge {
                    from: (*from).into(),
                    to: (*to).into(),
                    kind: (*kind).into(),
                })
                .collect(),
            critical_path: vec!["a".into(), "b".into()],
        }
    }

    /// Asserts that no segment of an edge crosses a node.
    fn no_edge_behind_a_node(graph: &Graph) {
        let (width, height) = graph.node_size;
        for edge in &graph.edges {
            for pair in edge.points.windows(2) {
                let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
                assert!(x1 == x2 || y1 == y2, "{} to {} is slanted", edge.from, edge.to);
                for node in &graph.nodes {
                    let (x, y) = node.at;
                    let crosses =
                        x1.max(x2) > x && x1.min(x2) < x + width && y1.max(y2) > y && y1.min(y2) < y + height;
                    assert!(!crosses, "{} to {} runs behind {}", edge.from, edge.to, node.id);
                }
            }
        }
    }

    #[test]
    fn implied_edges_and_unlinked_beads_are_left_out_and_counted() {
        let graph = draw(
            &drawing(
                &[("b", "a", "blocks"), ("c", "b", "blocks"), ("c", "a", "blocks"), ("b", "e", "parent")],
                &[("e", "epic"), ("x", "task")],
            ),
            &[],
        );
        assert_eq!((graph.edges.len(), graph.implied, graph.unlinked, graph.nodes.len()), (2, 1, 1, 3));
        assert_eq!(graph.nodes.iter().map(|node| node.layer).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(graph.edges.iter().filter(|edge| edge.critical).count(), 1);
        no_edge_behind_a_node(&graph);
    }

    #[test]
    fn a_cycle_is_drawn_and_marked() {
        let graph =
            draw(&drawing(&[("b", "a", "blocks"), ("a", "b", "blocks"), ("c", "b", "blocks")], &[]), &[]);
        assert_eq!(graph.edges.iter().filter(|edge| edge.cycle).count(), 2);
        no_edge_behind_a_node(&graph);
    }

    #[test]
    fn a_large_graph_folds_its_epics_and_opens_one() {
        let names: Vec<(String, String, String)> = (0..400)
            .map(|number| {
                (format!("t{number}"), format!("t{}", (number * 7 + 3) % 400), format!("e{}", number % 20))
            })
            .collect();
        let mut edges: Vec<(&str, &str, &str)> = Vec::new();
        for (bead, after, epic) in &names {
            edges.push((bead, epic, "parent"));
            if bead.len() > after.len() || (bead.len() == after.len() && bead > after) {
                edges.push((bead, after, "blocks"));
            }
        }
        let folded = draw(&drawing(&edges, &[]), &[]);
        assert!(folded.nodes.len() <= 20 && folded.nodes.iter().all(|node| node.folded.is_some()));
        let open = draw(&drawing(&edges, &[]), &["e3"]);
        assert!(open.nodes.iter().any(|node| node.folded.is_none()));
        assert!(open.nodes.len() <= MAX_NODES);
        assert!(folded.edges.iter().all(|edge| !edge.cycle), "epics that wait for each other are no cycle");
        no_edge_behind_a_node(&folded);
        no_edge_behind_a_node(&open);
    }
}
