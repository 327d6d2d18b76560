//! Writes the npm package: both programs and the compiled client. Nothing is downloaded when it is installed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::VERSION;
use super::architecture::Architecture;
use super::tar::{Tar, gzip};
use super::tree::Tree;
use crate::arguments::Result;

/// Returns the package, or `None` if the client was not compiled.
pub fn package(tree: &Tree, architecture: Architecture, epoch: u64) -> Result<Option<Vec<u8>>> {
    let source = Path::new("clients/typescript");
    let Ok(compiled) = fs::read_dir(source.join("lib")) else { return Ok(None) };
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(source.join("package.json"))?)?;
    manifest["version"] = VERSION.into();
    manifest["os"] = json!(["linux"]);
    manifest["cpu"] = json!([architecture.node()]);
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.remove("devDependencies");
        manifest.remove("scripts");
    }
    let mut tar = Tar::new(epoch);
    let mut add = |path: &str, is_executable: bool, bytes: &[u8]| {
        tar.file(&format!("package/{path}"), is_executable, bytes)
    };
    add("package.json", false, format!("{}\n", serde_json::to_string_pretty(&manifest)?).as_bytes())?;
    add("README.md", false, &fs::read(source.join("README.md"))?)?;
    for name in ["LICENSE", "THIRD-PARTY-LICENCES.txt"] {
        add(name, false, tree.read(&format!("share/doc/beads/{name}"))?)?;
    }
    for name in ["bd", "bb"] {
        let path = format!("bin/{name}");
        add(&path, true, tree.read(&path)?)?;
    }
    let mut names: Vec<_> = compiled.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    for name in names.iter().filter_map(|name| name.to_str()) {
        add(&format!("lib/{name}"), false, &fs::read(source.join("lib").join(name))?)?;
    }
    gzip(&tar.finish()).map(Some)
}
