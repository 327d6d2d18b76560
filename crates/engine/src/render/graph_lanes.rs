//! Draws edges between the lines of a list, as `git log --graph` does.
//!
//! All edges that leave a line downwards share a lane to the left of the text. So no edge runs behind a bead:
//! a lane that crosses a branch passes over it, and only a lane that belongs to the branch joins it.

use std::collections::BTreeSet;

/// A kind of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stroke {
    /// Between beads that wait for each other.
    Single,
    /// Between a child and its parent.
    Double,
}

/// An edge between two lines of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineEdge {
    /// The upper line.
    pub upper: usize,
    /// The lower line.
    pub lower: usize,
    /// How it is drawn.
    pub stroke: Stroke,
}

/// What happens to a lane on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    Pass,
    Branch,
    End,
}

/// The edges that leave one line downwards.
#[derive(Debug)]
struct Lane {
    upper: usize,
    /// The lower ends, in ascending order.
    lowers: Vec<usize>,
    stroke: Stroke,
}

impl Lane {
    fn last(&self) -> usize {
        self.lowers.last().copied().unwrap_or(self.upper)
    }

    fn part(&self, line: usize) -> Option<Part> {
        Some(match line {
            _ if line < self.upper || line > self.last() => return None,
            _ if line == self.upper => Part::Start,
            _ if line == self.last() => Part::End,
            _ if self.lowers.binary_search(&line).is_ok() => Part::Branch,
            _ => Part::Pass,
        })
    }
}

/// The drawn edges of a list.
#[derive(Debug)]
pub struct Lanes {
    /// The lanes of each column, from top to bottom. They do not overlap.
    columns: Vec<Vec<Lane>>,
    /// The edges for which there was no column. Name them in the text.
    pub left_out: BTreeSet<LineEdge>,
}

impl Lanes {
    /// Assigns the edges to at most `columns` columns.
    pub fn new(edges: &[LineEdge], columns: usize) -> Self {
        let mut sorted: Vec<LineEdge> =
            edges.iter().copied().filter(|edge| edge.upper < edge.lower).collect();
        sorted.sort_by_key(|edge| (edge.upper, edge.stroke, edge.lower));
        sorted.dedup();
        let mut lanes: Vec<Lane> = Vec::new();
        for edge in sorted {
            match lanes.last_mut() {
                Some(lane) if (lane.upper, lane.stroke) == (edge.upper, edge.stroke) => {
                    lane.lowers.push(edge.lower);
                }
                _ => lanes.push(Lane { upper: edge.upper, lowers: vec![edge.lower], stroke: edge.stroke }),
            }
        }
        let mut this = Self { columns: Vec::new(), left_out: BTreeSet::new() };
        for lane in lanes {
            let is_free = |column: &&mut Vec<Lane>| column.last().is_none_or(|last| last.last() < lane.upper);
            if let Some(column) = this.columns.iter_mut().find(is_free) {
                column.push(lane);
            } else if this.columns.len() < columns {
                this.columns.push(vec![lane]);
            } else {
                let Lane { upper, stroke, .. } = lane;
                this.left_out.extend(lane.lowers.into_iter().map(|lower| LineEdge { upper, lower, stroke }));
            }
        }
        this
    }

    /// Returns how many characters every line begins with.
    pub fn width(&self) -> usize {
        2 * self.columns.len()
    }

    /// Draws the beginning of a line of the list. The text follows directly.
    pub fn line(&self, line: usize) -> String {
        self.draw(line, |lane| lane.part(line))
    }

    /// Draws the beginning of a line that precedes a line of the list, such as a heading.
    pub fn before(&self, line: usize) -> String {
        self.draw(line, |lane| (lane.upper < line && line <= lane.last()).then_some(Part::Pass))
    }

    /// Draws a line. Looks only at the lane that each column has there, because a graph may have many lanes.
    fn draw(&self, line: usize, part: impl Fn(&Lane) -> Option<Part>) -> String {
        // The first column is the nearest to the text.
        let cells = self.columns.iter().rev().map(|lanes| {
            let lane = lanes[..lanes.partition_point(|lane| lane.upper <= line)].last()?;
            Some((part(lane)?, lane.stroke))
        });
        let mut out = String::new();
        let mut across: Option<Stroke> = None;
        for cell in cells {
            out.push(match cell {
                Some((part, stroke)) => glyph(part, stroke, across.is_some()),
                None => across.map_or(' ', horizontal),
            });
            if let Some((Part::Start | Part::Branch | Part::End, stroke)) = cell {
                across = Some(across.map_or(stroke, |across| across.min(stroke)));
            }
            out.push(across.map_or(' ', horizontal));
        }
        out
    }
}

fn horizontal(stroke: Stroke) -> char {
    match stroke {
        Stroke::Single => '─',
        Stroke::Double => '═',
    }
}

/// Returns the character of a lane. `joined` says whether a branch comes from the left.
fn glyph(part: Part, stroke: Stroke, joined: bool) -> char {
    let (single, double) = match (part, joined) {
        (Part::Pass, _) => ('│', '║'),
        (Part::Start, false) => ('╭', '╔'),
        (Part::Start, true) => ('┬', '╦'),
        (Part::Branch, false) => ('├', '╠'),
        (Part::Branch, true) => ('┼', '╬'),
        (Part::End, false) => ('╰', '╚'),
        (Part::End, true) => ('┴', '╩'),
    };
    if stroke == Stroke::Single { single } else { double }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads the edges back from a drawing: follows every lane from where it starts to where it ends.
    fn read(drawing: &[String]) -> BTreeSet<LineEdge> {
        let lines: Vec<Vec<char>> = drawing.iter().map(|line| line.chars().collect()).collect();
        let columns = lines.first().map_or(0, Vec::len);
        let mut found = BTreeSet::new();
        for column in (0..columns).step_by(2) {
            let mut open: Option<(usize, Stroke)> = None;
            for (line, cells) in lines.iter().enumerate() {
                let cell = cells[column];
                let stroke =
                    if "║╔╦╠╬╚╩".contains(cell) { Stroke::Double } else { Stroke::Single };
                let reaches_text = cells[column + 1..].iter().all(|cell| *cell != ' ');
                match cell {
                    '╭' | '┬' | '╔' | '╦' => {
                        assert!(open.is_none() && reaches_text, "{drawing:?}");
                        open = Some((line, stroke));
                    }
                    '├' | '┼' | '╠' | '╬' | '╰' | '┴' | '╚' | '╩' => {
                        let (upper, started) = open.unwrap();
                        assert!(reaches_text && started == stroke, "{drawing:?}");
                        found.insert(LineEdge { upper, lower: line, stroke });
                        if "╰┴╚╩".contains(cell) {
                            open = None;
                        }
                    }
                    '│' | '║' => assert_eq!(open.map(|(_, stroke)| stroke), Some(stroke), "{drawing:?}"),
                    _ => assert_eq!(open, None, "a lane has a gap: {drawing:?}"),
                }
            }
            assert_eq!(open, None, "{drawing:?}");
        }
        found
    }

    fn edges() -> impl Strategy<Value = Vec<LineEdge>> {
        let stroke = prop_oneof![Just(Stroke::Single), Just(Stroke::Double)];
        let edge = (0_usize..20, 1_usize..20, stroke).prop_map(|(upper, length, stroke)| LineEdge {
            upper,
            lower: upper + length,
            stroke,
        });
        proptest::collection::vec(edge, 0..60)
    }

    proptest! {
        /// Every edge is drawn from its upper to its lower line or left out, and nothing else is drawn.
        #[test]
        fn a_drawing_says_exactly_which_beads_are_connected(edges in edges(), columns in 0_usize..30) {
            let lanes = Lanes::new(&edges, columns);
            let drawing: Vec<String> = (0..40).map(|line| lanes.line(line)).collect();
            prop_assert!(drawing.iter().all(|line| line.chars().count() == lanes.width()));
            prop_assert!(lanes.width() <= 2 * columns);
            let mut found = read(&drawing);
            found.extend(&lanes.left_out);
            prop_assert_eq!(found, edges.into_iter().collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn branches_join_and_lanes_pass() {
        let edge = |upper, lower, stroke| LineEdge { upper, lower, stroke };
        let edges = [
            edge(0, 1, Stroke::Single),
            edge(0, 3, Stroke::Single),
            edge(1, 2, Stroke::Double),
            edge(1, 3, Stroke::Single),
        ];
        let lanes = Lanes::new(&edges, 9);
        let drawing: Vec<String> = (0..4).map(|line| lanes.line(line)).collect();
        assert_eq!(drawing, ["    ╭─", "╔═┬─┼─", "╚═│═│═", "  ╰─┴─"]);
        assert_eq!(lanes.before(1), "    │ ");
        assert_eq!(lanes.before(0), "      ");
    }
}
