//! The graph of the board: which beads and edges are drawn. Closed and unlinked beads and edges that follow
//! from others are left out and counted; large graphs fold their epics. `grid` says where everything goes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use beads_core::BeadId;
use beads_core::query::Links;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use serde::Serialize;

use super::grid::{self, Band, Placed};
use super::store::StoreClient;

/// More nodes than this are unreadable: epics are folded, and what still remains is cut.
const MAX_NODES: usize = 150;

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
    let links: Links = store.value(Call::query(Query::Links { around, closed }))?;
    Ok(draw(&links, open))
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

fn draw(links: &Links, open: &[&str]) -> Graph {
    let (mut chosen, cut) = choose(links, open);
    let layers = layers(&chosen);
    let implied = reduce(&mut chosen, &layers);
    place(&chosen, &layers, links, (implied, cut))
}

fn epic_of(links: &Links, bead: usize) -> Option<&BeadId> {
    links.epics.get(bead)?.as_ref()
}

/// The node that stands for a bead: the bead itself, or its folded epic.
fn node_of<'a>(links: &'a Links, open: &[&str]) -> impl Fn(usize) -> (&'a str, bool) {
    let fold = links.beads.len() > MAX_NODES;
    // An epic that has edges of its own is part of its folded node, too.
    let epics: BTreeSet<&str> = links.epics.iter().flatten().map(BeadId::as_str).collect();
    let open: BTreeSet<String> = open.iter().map(|id| (*id).to_owned()).collect();
    move |bead| {
        let id = links.beads[bead].as_str();
        let epic = epic_of(links, bead).map(BeadId::as_str);
        match epic.or_else(|| epics.get(id).copied()) {
            Some(epic) if fold && !open.contains(epic) => (epic, true),
            _ => (id, false),
        }
    }
}

/// Chooses the nodes: all linked beads, with epics folded if there are too many. Returns how many were cut.
fn choose(links: &Links, open: &[&str]) -> (Chosen, usize) {
    let node_of = node_of(links, open);
    let mut members: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for bead in 0..links.beads.len() {
        let (name, folded) = node_of(bead);
        members.entry(name).or_insert((0, folded)).0 += 1;
    }
    // What is on the critical path is kept first, then folded epics, then the rest by id.
    let beads: BTreeMap<&str, usize> =
        links.beads.iter().enumerate().map(|(number, id)| (id.as_str(), number)).collect();
    let critical = links.critical_path.iter().filter_map(|id| beads.get(id.as_str()));
    let critical: Vec<&str> = critical.map(|bead| node_of(*bead).0).collect();
    let important: BTreeSet<&str> = critical.iter().copied().collect();
    let mut names: Vec<&str> = members.keys().copied().collect();
    names.sort_by_key(|name| (!important.contains(name), !members[name].1, *name));
    let cut: usize = names.iter().skip(MAX_NODES).map(|name| members[name].0).sum();
    names.truncate(MAX_NODES);
    names.sort_unstable();
    let numbers: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
    // Most beads of a large store share few nodes, so each name is looked up once.
    let node_numbers: Vec<Option<usize>> =
        (0..links.beads.len()).map(|bead| numbers.get(node_of(bead).0).copied()).collect();
    let edges = links.edges.iter().filter_map(|(before, after)| {
        let (before, after) = (*node_numbers.get(*before)?, *node_numbers.get(*after)?);
        Some((before?, after?)).filter(|(before, after)| before != after)
    });
    let band_of = |name: &str| {
        let bead = beads.get(name).filter(|_| !members[name].1)?;
        epic_of(links, *bead).map(ToString::to_string)
    };
    let mut critical: Vec<usize> = critical.iter().filter_map(|name| numbers.get(name).copied()).collect();
    critical.dedup();
    let chosen = Chosen {
        edges: edges.collect(),
        folded: names.iter().map(|name| members[name].1.then_some(members[name].0)).collect(),
        epics: names.iter().map(|name| band_of(name)).collect(),
        critical,
        names: names.into_iter().map(str::to_owned).collect(),
    };
    (chosen, cut)
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

fn place(chosen: &Chosen, layers: &[usize], links: &Links, (implied, cut): (usize, usize)) -> Graph {
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
        critical_path: links.critical_path.iter().map(ToString::to_string).collect(),
        unlinked: links.unlinked,
        implied,
        cut,
        linked: links.beads.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The links of beads with `blocks` and `parent` edges: the first waits for the second, or is part of it.
    fn links(edges: &[(&str, &str, &str)], unlinked: usize) -> Links {
        let id = |name: &str| name.parse::<BeadId>().unwrap();
        let of = |wanted: &'static str| edges.iter().filter(move |(_, _, kind)| *kind == wanted);
        let beads: BTreeSet<&str> = of("blocks").flat_map(|(after, before, _)| [*after, *before]).collect();
        let beads: Vec<&str> = beads.into_iter().collect();
        let number = |name: &str| beads.binary_search(&name).unwrap();
        let epic =
            |bead: &&str| of("parent").find(|(child, _, _)| child == bead).map(|(_, epic, _)| id(epic));
        Links {
            epics: beads.iter().map(epic).collect(),
            edges: of("blocks").map(|(after, before, _)| (number(before), number(after))).collect(),
            beads: beads.iter().map(|name| id(name)).collect(),
            unlinked,
            critical_path: vec![id("bd-a"), id("bd-b")],
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
        let edges = [
            ("bd-b", "bd-a", "blocks"),
            ("bd-c", "bd-b", "blocks"),
            ("bd-c", "bd-a", "blocks"),
            ("bd-b", "bd-e", "parent"),
        ];
        let graph = draw(&links(&edges, 1), &[]);
        assert_eq!((graph.edges.len(), graph.implied, graph.unlinked, graph.nodes.len()), (2, 1, 1, 3));
        assert_eq!(graph.nodes.iter().map(|node| node.layer).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(graph.edges.iter().filter(|edge| edge.critical).count(), 1);
        no_edge_behind_a_node(&graph);
    }

    #[test]
    fn a_cycle_is_drawn_and_marked() {
        let edges = [("bd-b", "bd-a", "blocks"), ("bd-a", "bd-b", "blocks"), ("bd-c", "bd-b", "blocks")];
        let graph = draw(&links(&edges, 0), &[]);
        assert_eq!(graph.edges.iter().filter(|edge| edge.cycle).count(), 2);
        no_edge_behind_a_node(&graph);
    }

    /// Beads that wait for others by a fixed rule, in 20 epics.
    fn many(count: usize) -> Vec<(String, String, String)> {
        let name = |number: usize| format!("bd-t{number:05}");
        let row =
            |number: usize| (name(number), name((number * 7 + 3) % count), format!("bd-e{}", number % 20));
        (0..count).map(row).collect()
    }

    fn edges_of(rows: &[(String, String, String)]) -> Vec<(&str, &str, &str)> {
        let mut edges: Vec<(&str, &str, &str)> = Vec::new();
        for (bead, after, epic) in rows {
            edges.push((bead, epic, "parent"));
            if bead > after {
                edges.push((bead, after, "blocks"));
            }
        }
        edges
    }

    #[test]
    fn a_large_graph_folds_its_epics_and_opens_one() {
        let rows = many(400);
        let mut edges = edges_of(&rows);
        // An epic that waits for a bead itself is still one node.
        edges.push(("bd-e1", "bd-t00000", "blocks"));
        let links = links(&edges, 0);
        let folded = draw(&links, &[]);
        assert!(folded.nodes.len() <= 20 && folded.nodes.iter().all(|node| node.folded.is_some()));
        let shown: usize = folded.nodes.iter().filter_map(|node| node.folded).sum();
        assert_eq!((shown, folded.cut, folded.linked), (links.beads.len(), 0, links.beads.len()));
        let open = draw(&links, &["bd-e3"]);
        assert!(open.nodes.iter().any(|node| node.folded.is_none()));
        assert!(open.nodes.len() <= MAX_NODES);
        assert!(folded.edges.iter().all(|edge| !edge.cycle), "epics that wait for each other are no cycle");
        no_edge_behind_a_node(&folded);
        no_edge_behind_a_node(&open);
    }

    /// What is drawn is bounded, so the cost follows the number of edges and no more.
    #[test]
    fn a_graph_without_epics_is_cut_and_counted() {
        let rows = many(1_000);
        let edges: Vec<_> = edges_of(&rows).into_iter().filter(|(_, _, kind)| *kind == "blocks").collect();
        let links = links(&edges, 0);
        let graph = draw(&links, &[]);
        assert_eq!((graph.nodes.len(), graph.cut), (MAX_NODES, links.beads.len() - MAX_NODES));
        no_edge_behind_a_node(&graph);
    }
}
