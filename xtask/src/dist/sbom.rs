//! Writes the list of everything that is compiled into the programs, as CycloneDX 1.5.

use serde_json::{Value, json};

use super::VERSION;
use super::architecture::Architecture;
use super::c_libraries::{C_LIBRARIES, glibc_version};
use super::metadata::{Metadata, Package};
use super::standard_library;
use crate::arguments::Result;

pub fn cyclonedx(metadata: &Metadata, architecture: Architecture, epoch: u64) -> Result<String> {
    let is_root = |package: &&Package| package.name == "beads";
    let crates = metadata.0.values().filter(|package| !is_root(package)).map(component);
    let mut components: Vec<Value> = crates.collect();
    for library in &C_LIBRARIES {
        if let Some(package) = library.package(metadata) {
            components.push(generic_component(library.name, &library.version(package)?, library.licence));
        }
    }
    components.push(generic_component(
        "glibc",
        &glibc_version(&architecture.compiler()?)?,
        "LGPL-2.1-or-later",
    ));
    components.push(generic_component("rust-std", &standard_library::version()?, "MIT OR Apache-2.0"));
    let references = |package: &Package| -> Vec<String> {
        package.dependencies.iter().filter_map(|id| metadata.0.get(id)).map(reference).collect()
    };
    let dependencies = metadata
        .0
        .values()
        .map(|package| json!({"ref": reference(package), "dependsOn": references(package)}));
    let time = beads_core::Timestamp::text_of(epoch * 1000);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {"type": "application", "bom-ref": format!("pkg:cargo/beads@{VERSION}"), "name": "beads", "version": VERSION},
        },
        "components": components,
        "dependencies": dependencies.collect::<Vec<Value>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package) -> Value {
    json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
        // An expression with a slash is the old spelling of OR.
        "licenses": [{"expression": package.licence.replace('/', " OR ")}],
    })
}

fn generic_component(name: &str, version: &str, licence: &str) -> Value {
    let reference = format!("pkg:generic/{name}@{version}");
    json!({
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "purl": reference,
        "licenses": [{"expression": licence}],
    })
}
