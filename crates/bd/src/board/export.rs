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

/// How deep epics may be nested.
const DEPTH: usize = 50;

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
    left_out: LeftOut,
}

/// The closed beads that a large store leaves out, so that the page can count all of them. Epics are no work.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct LeftOut {
    closed: usize,
    /// How many of them belong to each topmost epic.
    epics: BTreeMap<String, usize>,
}

/// Exports the store.
pub fn export(store: &StoreClient) -> Result<Exported, Failure> {
    let mut start = snapshot(store, true)?;
    let all: Vec<Value> = serde_json::from_str(start.beads.get()).map_err(Failure::internal)?;
    let of = all.len();
    let now = now_ms();
    let is_kept = |bead: &Value| of <= MAX_BEADS || is_recent(bead, now);
    let left_out = left_out(&all, is_kept);
    let kept: Vec<Value> = all.into_iter().filter(is_kept).collect();
    let ids: BTreeSet<&str> = kept.iter().filter_map(|bead| bead["id"].as_str()).collect();
    let details = details(store, &ids)?;
    let beads = kept.len();
    start.beads = to_raw_value(&kept).map_err(Failure::internal)?;
    start.pulse.status = without_paths(&start.pulse.status)?;
    let graph = graph(store, None, false, &[])?;
    let data = Data { exported: now, snapshot: start, graph, details, of, left_out };
    let data = serde_json::to_string(&data).map_err(Failure::internal)?;
    Ok(Exported { page: page(&data), beads, of })
}

/// Returns the status without where the store is on this machine.
fn without_paths(status: &RawValue) -> Result<Box<RawValue>, Failure> {
    let mut status: Value = serde_json::from_str(status.get()).map_err(Failure::internal)?;
    if let Some(status) = status.as_object_mut() {
        status.remove("git_dir");
    }
    to_raw_value(&status).map_err(Failure::internal)
}

/// Counts the beads that are not kept.
fn left_out(all: &[Value], is_kept: impl Fn(&Value) -> bool) -> LeftOut {
    let parents: BTreeMap<&str, &str> =
        all.iter().filter_map(|bead| Some((bead["id"].as_str()?, bead["parent"].as_str()?))).collect();
    let mut out = LeftOut::default();
    for bead in all.iter().filter(|bead| !is_kept(bead) && bead["type"] != "epic") {
        out.closed += 1;
        let Some(mut top) = bead["parent"].as_str() else { continue };
        // Nothing prevents a cycle of parents.
        for _ in 0..DEPTH {
            let Some(parent) = parents.get(top) else { break };
            top = parent;
        }
        *out.epics.entry(top.to_owned()).or_default() += 1;
    }
    out
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
    use serde_json::json;

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
    fn closed_beads_that_are_left_out_are_counted_with_their_topmost_epic() {
        let bead = |id: &str, kind: &str, parent: Option<&str>, is_old: bool| json!({"id": id, "type": kind, "parent": parent, "old": is_old});
        let all = [
            bead("bd-1", "epic", None, false),
            bead("bd-1.1", "epic", Some("bd-1"), true),
            bead("bd-1.1.1", "task", Some("bd-1.1"), true),
            bead("bd-1.2", "task", Some("bd-1"), true),
            bead("bd-1.3", "task", Some("bd-1"), false),
            bead("bd-2", "task", None, true),
        ];
        let counted = left_out(&all, |bead| bead["old"] == false);
        assert_eq!(counted, LeftOut { closed: 3, epics: BTreeMap::from([("bd-1".to_owned(), 2)]) });
        assert_eq!(left_out(&all, |_| true), LeftOut::default());
    }

    #[test]
    fn an_export_has_no_paths() {
        let status = RawValue::from_string(r#"{"prefix":"bd","git_dir":"/home/ann/repo/.git"}"#.to_owned());
        assert_eq!(without_paths(&status.unwrap()).unwrap().get(), r#"{"prefix":"bd"}"#);
    }

    #[test]
    fn data_cannot_leave_its_element() {
        let page = page(r#"{"title":"</script><script>alert(1)</script><!--"}"#);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("\nimport ") && !page.contains("\nexport "));
    }
}
