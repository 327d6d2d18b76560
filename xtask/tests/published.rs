//! The crates that `cargo publish` uploads. They are built from the packaged files alone, so every file that is read
//! while compiling must be among them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The published crates and their directories.
const CRATES: [(&str, &str); 4] =
    [("beads-core", "core"), ("beads-store", "store"), ("beads-engine", "engine"), ("beads", "bd")];

/// What comes before the name of a file in the source of a crate or in its build script.
const MARKS: [&str; 4] =
    ["include_str!(\"", "include_bytes!(\"", "include_str!(concat!(\"", "rerun-if-changed="];

#[test]
fn published_crates_contain_the_files_that_they_are_built_from() {
    let mut found = 0;
    for (name, directory) in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(directory);
        let packaged = packaged_files(name);
        for file in ["Cargo.toml", "LICENSE", "README.md"] {
            assert!(packaged.contains(Path::new(file)), "{name} is published without {file}");
        }
        let is_source = |path: &&PathBuf| {
            path.extension().is_some_and(|extension| extension == "rs") && !path.starts_with("tests")
        };
        for source in packaged.iter().filter(is_source) {
            let text = std::fs::read_to_string(root.join(source)).unwrap();
            for used in MARKS.iter().flat_map(|mark| text.split(mark).skip(1)) {
                let used = resolved(source, used.split('"').next().unwrap());
                for file in files_below(&root, &used) {
                    let file = file.strip_prefix(&root).unwrap();
                    assert!(packaged.contains(file), "{name} is published without {}", file.display());
                    found += 1;
                }
            }
        }
    }
    assert!(found > 10, "only {found} files are read while compiling");
}

/// Returns the paths that `cargo package` would put into the archive of a crate.
fn packaged_files(name: &str) -> BTreeSet<PathBuf> {
    let listed = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8(listed.stdout).expect("paths in UTF-8").lines().map(PathBuf::from).collect()
}

/// Returns a path that a source file names, below the directory of the crate.
fn resolved(source: &Path, named: &str) -> PathBuf {
    let mut path = source.parent().expect("a file").to_owned();
    for part in Path::new(named).components() {
        match part {
            Component::ParentDir => {
                assert!(path.pop(), "{named} is outside the crate of {}", source.display());
            }
            part => path.push(part),
        }
    }
    path
}

/// Returns a file, or all files below a directory, which must exist.
fn files_below(root: &Path, path: &Path) -> Vec<PathBuf> {
    let path = root.join(path);
    if !path.is_dir() {
        assert!(path.exists(), "{} does not exist", path.display());
        return vec![path];
    }
    let entries = std::fs::read_dir(&path).expect("a directory");
    let names = entries.map(|entry| PathBuf::from(entry.expect("an entry").file_name()));
    names.flat_map(|name| files_below(&path, &name)).collect()
}
