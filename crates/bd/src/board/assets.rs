//! The page: hand-written modules and style sheets, embedded in the binary.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use beads_core::Code;
use beads_core::canonical::hex;
use flate2::Compression;
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

/// A file as it is sent.
#[derive(Debug)]
struct File {
    kind: &'static str,
    content: &'static str,
    /// Compressed, unless that is not worth it.
    packed: Option<Bytes>,
    tag: HeaderValue,
}

/// All files by their path. They are compressed once, because the first paint waits for nearly all of them.
static FILES: LazyLock<BTreeMap<String, File>> = LazyLock::new(|| {
    let named = |asset: &Asset| {
        let is_style = asset.name.ends_with(".css");
        let kind = if is_style { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
        (format!("page/{}", asset.name), File::new(kind, asset.content))
    };
    let mut files: BTreeMap<String, File> =
        STYLES.iter().chain(MODULES).chain([&WORKER]).map(named).collect();
    for path in ["", "index.html"] {
        files.insert(path.to_owned(), File::new("text/html; charset=utf-8", PAGE));
    }
    files.insert("icon.svg".to_owned(), File::new("image/svg+xml", ICON));
    files
});

impl File {
    fn new(kind: &'static str, content: &'static str) -> Self {
        let tag = format!("\"{}\"", hex(&Sha256::digest(content.as_bytes())[..12]));
        let packed = reply::packed(content.as_bytes(), Compression::best()).map(Bytes::from);
        // A digest in quotes is always a valid header.
        Self {
            kind,
            content,
            packed,
            tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("")),
        }
    }
}

/// Compresses the files before the first browser asks for them.
pub fn prepare() {
    LazyLock::force(&FILES);
}

/// Serves a file of the page. It contains no data, so it needs no token.
pub async fn serve(request: Request) -> Response {
    let Some(file) = FILES.get(request.uri().path().trim_start_matches('/')) else {
        return reply::error(StatusCode::NOT_FOUND, Code::NotFound.as_str(), "there is no such file");
    };
    let mut reply = match &file.packed {
        _ if request.headers().get(header::IF_NONE_MATCH) == Some(&file.tag) => {
            reply::body(StatusCode::NOT_MODIFIED, file.kind, "")
        }
        Some(packed) if reply::accepts_gzip(request.headers()) => reply::gzip(packed.clone(), file.kind),
        _ => reply::body(StatusCode::OK, file.kind, file.content),
    };
    let headers = reply.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ETAG, file.tag.clone());
    reply
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read;

    use super::*;

    #[test]
    fn files_are_sent_as_they_are_or_compressed() {
        for (path, file) in FILES.iter() {
            assert!(file.tag.len() > 20, "{path}");
            let Some(packed) = &file.packed else { continue };
            let mut text = String::new();
            flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
            assert!(text == file.content && packed.len() < text.len(), "{path}");
        }
        assert_eq!(FILES.len(), STYLES.len() + MODULES.len() + 4);
        assert!(FILES["page/main.js"].packed.is_some());
    }

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
