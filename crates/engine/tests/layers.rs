//! Checks that the modules of a crate do not depend on each other in a cycle. The compiler enforces the
//! direction between crates; this test enforces it inside `engine` and `bd`.
#![allow(clippy::unwrap_used)] // failing is a test's job

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_import_cycle_between_modules() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["engine", "bd"] {
        let graph = module_graph(&crates.join(name).join("src"));
        assert!(graph.len() > 3, "the sources of {name} were not found");
        assert_eq!(cycle(&graph), None, "modules of {name} import each other in a cycle");
    }
}

#[test]
fn a_cycle_is_found() {
    let edges = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
    let mut graph = Graph::new();
    graph.insert("client".into(), edges(&["daemon"]));
    graph.insert("daemon".into(), edges(&["render"]));
    assert_eq!(cycle(&graph), None);
    graph.insert("render".into(), edges(&["client"]));
    assert!(cycle(&graph).is_some());
    assert_eq!(imports("use crate::{a::B, c};\nlet x = crate::d::e();", 2), edges(&["a", "c", "d"]));
    assert_eq!(imports("use super::f;\nuse super::super::g;", 1), edges(&["f"]));
}

/// Each of these is implemented in one place, or in the few files listed here with what they do instead.
/// Another implementation would sooner or later behave differently.
#[test]
fn each_of_these_is_done_in_one_place() {
    let replacing = [
        "bd/src/tool/install.rs",             // replaces a link, not a file
        "engine/src/daemon/file_requests.rs", // takes a request, which must be atomic
        "engine/src/log.rs",                  // keeps the earlier log
        "engine/src/rescued.rs",              // marks a rescue file as imported
        "engine/src/service/uninstall.rs",    // moves a repository
        "store/src/pack.rs",                  // moves objects aside and back
        "store/src/repair/mod.rs",            // moves damaged segments aside
        "store/src/replace_file.rs",
    ];
    let finding = [
        "bd/src/agent/root.rs", // as contract 2 requires
        "engine/src/place.rs",
    ];
    let saving = ["engine/src/service/sync/job.rs", "store/src/replica/checkpoints.rs"];
    is_only_in("fs::rename(", &replacing);
    is_only_in("TryLockError", &["store/src/file_lock.rs"]);
    is_only_in("flock", &[]);
    is_only_in("join(\".git\")", &finding);
    is_only_in("Repository::discover", &["bd/src/agent/root.rs"]);
    is_only_in(":.3}", &["core/src/timestamp.rs"]);
    is_only_in("kosaraju_scc", &["core/src/query/work_graph.rs"]);
    is_only_in("-> &mut Replica", &[]);
    is_only_in(".begin_checkpoint()", &saving);
}

/// Asserts that exactly these files of the four crates contain a text, outside of tests.
fn is_only_in(text: &str, expected: &[&str]) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for file in
        ["core", "store", "engine", "bd"].iter().flat_map(|name| rust_files(&crates.join(name).join("src")))
    {
        let source = std::fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
        if code.contains(text) {
            found.insert(file.strip_prefix(crates).unwrap().to_str().unwrap().to_owned());
        }
    }
    let expected: BTreeSet<_> = expected.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(found, expected, "the files with {text:?}");
}

/// Returns the imports of each top-level module.
fn module_graph(source: &Path) -> Graph {
    let mut graph = Graph::new();
    for file in rust_files(source) {
        let relative = file.strip_prefix(source).unwrap();
        let depth = relative.components().count();
        let module = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = module.trim_end_matches(".rs").to_owned();
        if matches!(module.as_str(), "lib" | "main" | "bb") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let levels = if relative.ends_with("mod.rs") { depth - 1 } else { depth };
        let mut imported = imports(&text, levels);
        imported.remove(&module);
        graph.entry(module).or_default().extend(imported);
    }
    let modules: BTreeSet<_> = graph.keys().cloned().collect();
    for imported in graph.values_mut() {
        imported.retain(|name| modules.contains(name));
    }
    graph
}

/// Returns the top-level modules that a file names, as `crate::x` or, `levels` below the root, as
/// `super::…::x`.
fn imports(text: &str, levels: usize) -> BTreeSet<String> {
    let up = "super::".repeat(levels);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    ["crate::", up.as_str()].iter().flat_map(|root| names_behind(&code, root)).collect()
}

/// Returns the names that follow `root`, including those inside braces.
fn names_behind<'a>(code: &'a str, root: &'a str) -> impl Iterator<Item = String> + 'a {
    code.match_indices(root)
        .filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
        .flat_map(|(at, _)| {
            let rest = &code[at + root.len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(list) => top_level(list.split(';').next().unwrap_or_default()),
                None => vec![rest],
            };
            names
                .into_iter()
                .map(first_word)
                .filter(|name| !matches!(name.as_str(), "" | "super" | "self"))
                .collect::<Vec<_>>()
        })
}

/// Splits a list in braces at its top-level commas.
fn top_level(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

fn first_word(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_')
        .collect()
}

/// Returns a module that can reach itself.
fn cycle(graph: &Graph) -> Option<String> {
    let reaches_itself = |start: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            for next in graph.get(module).into_iter().flatten() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    };
    graph.keys().find(|module| reaches_itself(module)).cloned()
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
