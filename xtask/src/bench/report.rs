//! The table of goals and the page it goes onto.

use std::fmt::Write;
use std::path::Path;

use super::plot::{self, Line};
use crate::arguments::Result;

pub struct Row {
    pub what: String,
    pub goal: &'static str,
    pub measured: String,
    /// How much of what is allowed was used; above one the goal was missed.
    pub used: f64,
}

impl Row {
    fn verdict(&self) -> &'static str {
        if self.used <= 1.0 { "met" } else { "missed" }
    }
}

#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    latency: Vec<Line>,
    throughput: Vec<Line>,
    peers: Vec<String>,
}

impl Report {
    pub fn row(&mut self, what: impl Into<String>, goal: &'static str, measured: String, used: f64) {
        let row = Row { what: what.into(), goal, measured, used };
        println!("{:7} {}: {} (goal {})", row.verdict(), row.what, row.measured, row.goal);
        self.rows.push(row);
    }

    /// Medians in runs of `/bin/true`, against the number of live beads.
    pub fn latency(&mut self, name: &str, size: usize, ratio: f64) {
        point(&mut self.latency, name, (size as f64, ratio));
    }

    /// Durable creates a second, against the number of clients.
    pub fn throughput(&mut self, name: &str, clients: usize, rate: f64) {
        point(&mut self.throughput, name, (clients as f64, rate));
    }

    pub fn peer(&mut self, line: String) {
        println!("{line}");
        self.peers.push(line);
    }

    /// Writes the page and its pictures. What the figures mean is written by hand, in `NOTES.md` beside them.
    pub fn write(&self, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir)?;
        let mut page = String::from(
            "# Speed\n\nWritten by `cargo xtask bench`; what the figures mean is in [NOTES.md](NOTES.md). All are medians of one run on one machine, \
             in turn with the floors, so that ratios can be compared although seconds cannot.\n\n\
             | what | goal | measured | |\n|---|---|---|---|\n",
        );
        for row in &self.rows {
            let _ = writeln!(page, "| {} | {} | {} | {} |", row.what, row.goal, row.measured, row.verdict());
        }
        if !self.peers.is_empty() {
            page.push_str("\n## Peers, in the same run\n\n");
            for line in &self.peers {
                let _ = writeln!(page, "- {line}");
            }
        }
        for (name, title, below, beside, lines) in [
            (
                "latency",
                "Latency against the size of the store",
                "live beads",
                "runs of /bin/true",
                &self.latency,
            ),
            (
                "throughput",
                "Durable creates against clients",
                "clients at once",
                "creates a second",
                &self.throughput,
            ),
        ] {
            if lines.iter().any(|line| line.points.len() > 1) {
                let file = format!("{name}.svg");
                std::fs::write(dir.join(&file), plot::svg(title, below, beside, lines))?;
                let _ = write!(page, "\n![{title}]({file})\n");
            }
        }
        Ok(std::fs::write(dir.join("REPORT.md"), page)?)
    }
}

fn point(lines: &mut Vec<Line>, name: &str, point: (f64, f64)) {
    match lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.points.push(point),
        None => lines.push(Line { name: name.to_owned(), points: vec![point] }),
    }
}
