//! Writes the npm packages: one with the compiled client, and for each processor one with both programs. npm installs
//! the one for its machine as an optional dependency, and runs no scripts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::VERSION;
use super::architecture::Architecture;
use super::tar::{Tar, gzip};
use super::tree::Tree;
use crate::arguments::Result;

const SOURCE: &str = "clients/typescript";

/// The main package. Both programs of it are the script that runs those of the package for the machine.
pub const NAME: &str = "beads-rs";

/// Returns the name of the package with the programs for a processor.
pub fn platform_name(architecture: Architecture) -> String {
    format!("{NAME}-linux-{}", architecture.node())
}

/// Returns the package with the programs for a processor.
pub fn platform_package(tree: &Tree, architecture: Architecture, epoch: u64) -> Result<Vec<u8>> {
    let mut manifest = manifest()?;
    let name = platform_name(architecture);
    let manifest = json!({
        "name": name,
        "version": VERSION,
        "description": format!("The programs of {NAME} for Linux on {}", architecture.name()),
        "license": manifest["license"].take(),
        "os": ["linux"],
        "cpu": [architecture.node()],
    });
    let readme = format!("# {name}\n\nThe programs of `{NAME}` for one kind of machine. Install `{NAME}`.\n");
    let mut package = Package::new(epoch);
    package.text("package.json", &manifest)?;
    package.file("README.md", false, readme.as_bytes())?;
    for name in ["LICENSE", "THIRD-PARTY-LICENCES.txt"] {
        package.file(name, false, tree.read(&format!("share/doc/beads/{name}"))?)?;
    }
    for name in ["bd", "bb"] {
        let path = format!("bin/{name}");
        package.file(&path, true, tree.read(&path)?)?;
    }
    package.finish()
}

/// Returns the main package for these processors, or `None` if the client was not compiled.
pub fn main_package(architectures: &[Architecture], epoch: u64) -> Result<Option<Vec<u8>>> {
    let source = Path::new(SOURCE);
    let Ok(compiled) = fs::read_dir(source.join("lib")) else { return Ok(None) };
    let mut manifest = manifest()?;
    manifest["version"] = VERSION.into();
    manifest["os"] = json!(["linux"]);
    manifest["cpu"] = architectures.iter().map(|architecture| architecture.node()).collect();
    manifest["optionalDependencies"] =
        architectures.iter().map(|architecture| (platform_name(*architecture), VERSION)).collect();
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.remove("devDependencies");
        manifest.remove("scripts");
    }
    let mut package = Package::new(epoch);
    package.text("package.json", &manifest)?;
    package.file("README.md", false, &fs::read(source.join("README.md"))?)?;
    package.file("LICENSE", false, &fs::read("LICENSE")?)?;
    let launcher = fs::read(source.join("launch.sh"))?;
    for name in ["bd", "bb"] {
        package.file(&format!("bin/{name}"), true, &launcher)?;
    }
    let mut names: Vec<_> = compiled.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    for name in names.iter().filter_map(|name| name.to_str()) {
        package.file(&format!("lib/{name}"), false, &fs::read(source.join("lib").join(name))?)?;
    }
    package.finish().map(Some)
}

fn manifest() -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(Path::new(SOURCE).join("package.json"))?)?)
}

/// A package that is being written: an archive with one directory.
struct Package(Tar);

impl Package {
    fn new(epoch: u64) -> Self {
        Self(Tar::new(epoch))
    }

    fn text(&mut self, path: &str, value: &Value) -> Result<()> {
        self.file(path, false, format!("{}\n", serde_json::to_string_pretty(value)?).as_bytes())
    }

    fn file(&mut self, path: &str, is_executable: bool, bytes: &[u8]) -> Result<()> {
        self.0.file(&format!("package/{path}"), is_executable, bytes)
    }

    fn finish(self) -> Result<Vec<u8>> {
        gzip(&self.0.finish())
    }
}
