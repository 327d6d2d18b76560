//! `bd board --export`: the page, its modules and its data in one file that needs no server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use beads_core::counted;
use beads_core::query::Filter;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};

use super::assets::{MODULES, STYLES};
use super::graph::{Graph, graph};
use super::snapshot::{Snapshot, now_ms, snapshot};
use super::store::StoreClient;

/// The most beads in one file. A larger store exports its unfinished beads and those closed last night.
const MAX_BEADS: usize = 5_000;

/// How far back "last night" reaches in a large store.
const NIGHT_MS: u64 = 24 * 60 * 60 * 1000;

/// A finished file.
#[derive(Debug)]
pub struct Exported {
    pub page: String,
    /// The number of beads in the file, and in the store.
    pub beads: usize,
    pub of: usize,
}

impl Exported {
    /// Says what was written.
    pub fn sentence(&self, path: &Path) -> String {
        let path = path.display();
        if self.beads == self.of {
            return format!("Wrote {} to {path}", counted(self.beads, "bead"));
        }
        format!(
            "Wrote {} of {} beads to {path}: those that are unfinished or were closed in the last 24 hours",
            self.beads, self.of
        )
    }
}

#[derive(Debug, Serialize)]
struct Data {
    exported: u64,
    snapshot: Snapshot,
    graph: Graph,
    /// Beads in full, by id.
    details: BTreeMap<String, Box<RawValue>>,
    /// The number of beads in the store.
    of: usize,
}

/// Exports the store.
pub fn export(store: &StoreClient) -> Result<Exported, Failure> {
    let mut start = snapshot(store, true)?;
    let all: Vec<Value> = serde_json::from_str(start.beads.get()).map_err(Failure::internal)?;
    let of = all.len();
    let now = now_ms();
    let kept: Vec<Value> =
        if of <= MAX_BEADS { all } else { all.into_iter().filter(|bead| is_recent(bead, now)).collect() };
    let ids: BTreeSet<&str> = kept.iter().filter_map(|bead| bead["id"].as_str()).collect();
    let details = details(store, &ids)?;
    let beads = kept.len();
    start.beads = to_raw_value(&kept).map_err(Failure::internal)?;
    let data = Data { exported: now, snapshot: start, graph: graph(store, None, false, &[])?, details, of };
    let data = serde_json::to_string(&data).map_err(Failure::internal)?;
    Ok(Exported { page: page(&data), beads, of })
}

fn is_recent(bead: &Value, now: u64) -> bool {
    bead["closed"].as_u64().is_none_or(|closed| closed + NIGHT_MS >= now)
}

fn details(store: &StoreClient, ids: &BTreeSet<&str>) -> Result<BTreeMap<String, Box<RawValue>>, Failure> {
    let filter = Filter { ids: Some(ids.iter().map(ToString::to_string).collect()), ..Filter::default() };
    let found: Vec<Value> = store.value(Call::query(Query::Details(filter)))?;
    let of = |bead: &Value| Some((bead["id"].as_str()?.to_owned(), to_raw_value(bead).ok()?));
    Ok(found.iter().filter_map(of).collect())
}

/// Joins everything into one page. Its policy allows exactly this script and this style sheet.
fn page(data: &str) -> String {
    let script: String = MODULES.iter().map(|module| joined(module.content)).collect();
    let style: String = STYLES.iter().map(|sheet| sheet.content).collect();
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(&script),
        digest(&style)
    );
    // `<` could end the element or begin a comment; JSON allows writing it as an escape.
    let data = data.replace('<', "\\u003c");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>bd board</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<bd-board></bd-board>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script type=\"module\">{script}</script>\n\
         </body>\n</html>\n"
    )
}

/// Returns a module without its imports and exports: all modules share one scope in the file, and no two
/// define the same name.
fn joined(module: &str) -> String {
    let mut out = String::with_capacity(module.len());
    for line in module.lines().filter(|line| !line.starts_with("import ")) {
        out.push_str(line.strip_prefix("export ").unwrap_or(line));
        out.push('\n');
    }
    out
}

fn digest(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

/// Encodes bytes as base64, as policies spell digests.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_spelled_as_policies_expect() {
        for (text, spelled) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), spelled);
        }
    }

    #[test]
    fn data_cannot_leave_its_element() {
        let page = page(r#"{"title":"</script><script>alert(1)</script><!--"}"#);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("\nimport ") && !page.contains("\nexport "));
    }
}
