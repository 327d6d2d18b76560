use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::arguments::Result;

/// A crate that is compiled into the programs.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: String,
    pub directory: PathBuf,
    /// It is one of this workspace.
    pub is_own: bool,
    /// The ids of its dependencies.
    pub dependencies: BTreeSet<String>,
}

/// The crates that are compiled into the programs, by their id.
#[derive(Debug)]
pub struct Metadata(pub BTreeMap<String, Package>);

impl Metadata {
    /// Reads the dependencies of `beads` for a Rust target, without those of tests. Those of build scripts count: they
    /// contain C libraries.
    pub fn read(target: &str) -> Result<Self> {
        let done = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
            .args(["metadata", "--format-version=1", "--locked", "--filter-platform", target])
            .output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        Self::from_json(&serde_json::from_slice(&done.stdout)?)
    }

    fn from_json(metadata: &Value) -> Result<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut dependencies = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let used =
                |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev");
            let of = list(&node["deps"]);
            let ids: BTreeSet<String> =
                of.iter().filter(used).map(|dependency| text(&dependency["pkg"])).collect();
            dependencies.insert(text(&node["id"]), ids);
        }
        let packages = list(&metadata["packages"]);
        let root = packages.iter().find(|package| package["name"] == "beads");
        let mut pending = vec![text(&root.ok_or("the workspace has no package beads")?["id"])];
        let mut reached = BTreeSet::new();
        while let Some(id) = pending.pop() {
            if reached.insert(id.clone()) {
                pending.extend(dependencies.get(&id).into_iter().flatten().cloned());
            }
        }
        let packages = packages.iter().filter(|package| reached.contains(&text(&package["id"])));
        let packages = packages.map(|package| {
            let id = text(&package["id"]);
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let found = Package {
                name: text(&package["name"]),
                version: text(&package["version"]),
                licence: text(&package["license"]),
                directory: manifest.parent().map(PathBuf::from).unwrap_or_default(),
                is_own: package["source"].is_null(),
                dependencies: dependencies.remove(&id).unwrap_or_default(),
            };
            (id, found)
        });
        Ok(Self(packages.collect()))
    }
}
