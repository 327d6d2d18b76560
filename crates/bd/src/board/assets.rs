//! The page: hand-written modules and style sheets, embedded in the binary.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use beads_core::Code;
use beads_core::canonical::hex;
use sha2::{Digest, Sha256};

use super::reply;

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    pub name: &'static str,
    pub content: &'static str,
}

macro_rules! assets {
    ($($name:literal,)*) => {
        &[$(Asset { name: $name, content: include_str!(concat!("page/", $name)) },)*]
    };
}

/// The page itself.
pub const PAGE: &str = include_str!("page/index.html");

/// The icon in the tab of a browser.
const ICON: &str = include_str!("page/icon.svg");

/// The style sheets, in order.
pub const STYLES: &[Asset] = assets!["tokens.css", "board.css", "views.css", "narrow.css",];

/// The modules, each after those that it imports.
pub const MODULES: &[Asset] = assets![
    "words.js",
    "pace.js",
    "multimap.js",
    "dom.js",
    "markdown.js",
    "api.js",
    "first.js",
    "reader.js",
    "groups.js",
    "paths.js",
    "marker.js",
    "beads.js",
    "filter.js",
    "stream.js",
    "toast.js",
    "theme.js",
    "repeats.js",
    "actions.js",
    "parts.js",
    "view.js",
    "strips.js",
    "agent-panel.js",
    "needs.js",
    "now.js",
    "outline.js",
    "cards.js",
    "graph.js",
    "night.js",
    "bead.js",
    "search.js",
    "keys.js",
    "main.js",
];

/// The script that holds the stream for all tabs.
const WORKER: Asset = assets!["worker.js",][0];

/// Serves a file of the page. It contains no data, so it needs no token.
pub async fn serve(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    let (kind, content) = match path {
        "" | "index.html" => ("text/html; charset=utf-8", PAGE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => match find(path) {
            Some(asset) if asset.name.ends_with(".css") => ("text/css; charset=utf-8", asset.content),
            Some(asset) => ("text/javascript; charset=utf-8", asset.content),
            None => {
                return reply::error(StatusCode::NOT_FOUND, Code::NotFound.as_str(), "there is no such file");
            }
        },
    };
    let tag = format!("\"{}\"", hex(&Sha256::digest(content.as_bytes())[..12]));
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut reply = if known == Some(tag.as_str()) {
        reply::body(StatusCode::NOT_MODIFIED, kind, "")
    } else {
        reply::compressed(content.as_bytes().to_vec(), kind, request.headers())
    };
    let headers = reply.headers_mut();
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache"));
    if let Ok(tag) = tag.parse() {
        headers.insert(header::ETAG, tag);
    }
    reply
}

fn find(path: &str) -> Option<Asset> {
    let name = path.strip_prefix("page/")?;
    STYLES.iter().chain(MODULES).chain([&WORKER]).find(|asset| asset.name == name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn the_page_loads_every_file_and_nothing_else() {
        for asset in STYLES.iter().chain(MODULES) {
            assert!(PAGE.contains(&format!("\"page/{}\"", asset.name)), "{} is not loaded", asset.name);
        }
        for text in STYLES.iter().chain(MODULES).map(|asset| asset.content).chain([PAGE, WORKER.content]) {
            let outside =
                ["https://", "//cdn", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("];
            for word in outside {
                assert!(!text.contains(word), "{word} must not be used");
            }
        }
        assert!(!PAGE.contains("style=") && !PAGE.contains("<style"), "the policy forbids inline styles");
    }

    #[test]
    fn modules_can_be_joined_into_one() {
        let mut defined: BTreeMap<&str, &str> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for asset in MODULES {
            for line in asset.content.lines() {
                if let Some(from) = line.strip_prefix("import ").and_then(|rest| rest.split("'./").nth(1)) {
                    let name = from.trim_end_matches("';");
                    assert!(seen.contains(name), "{} imports {name}, which comes later", asset.name);
                    assert!(!line.contains(" as "), "{}: imports must not be renamed", asset.name);
                }
                let line = line.strip_prefix("export ").unwrap_or(line);
                let line = line.strip_prefix("async ").unwrap_or(line);
                for word in ["const ", "let ", "function ", "class "] {
                    let Some(rest) = line.strip_prefix(word) else { continue };
                    let name =
                        rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap();
                    if !name.is_empty() {
                        let before = defined.insert(name, asset.name);
                        assert_eq!(
                            before, None,
                            "{name} is defined in two modules, the second is {}",
                            asset.name
                        );
                    }
                }
            }
            seen.insert(asset.name);
        }
    }
}
