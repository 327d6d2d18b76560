//! Writes the Python wheel: both programs and the client library.

use std::fmt::Write as _;
use std::fs;

use sha2::{Digest, Sha256};

use super::VERSION;
use super::architecture::Architecture;
use super::tree::Tree;
use super::zip::Zip;
use crate::arguments::Result;

/// The platforms, without the processor: static programs run with any C library.
const PLATFORMS: [&str; 3] = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns a version as Python spells it: 1.0.0rc1.
fn version(version: &str) -> String {
    version.replacen("-rc.", "rc", 1)
}

/// Returns the platforms that the programs for a processor run on.
fn platforms(architecture: Architecture) -> [String; 3] {
    PLATFORMS.map(|platform| format!("{platform}_{}", architecture.name()))
}

pub fn file_name(cargo_version: &str, architecture: Architecture) -> String {
    format!("beads_rs-{}-py3-none-{}.whl", version(cargo_version), platforms(architecture).join("."))
}

pub fn package(tree: &Tree, architecture: Architecture) -> Result<Vec<u8>> {
    let base = format!("beads_rs-{}", version(VERSION));
    let mut files: Vec<(String, bool, Vec<u8>)> = Vec::new();
    let source = "clients/python/src/beads";
    let mut names: Vec<_> =
        fs::read_dir(source)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    for name in names.iter().filter_map(|name| name.to_str()) {
        if name.ends_with(".py") || name == "py.typed" {
            files.push((format!("beads/{name}"), false, fs::read(format!("{source}/{name}"))?));
        }
    }
    for name in ["bd", "bb"] {
        let program = tree.read(&format!("bin/{name}"))?.to_vec();
        files.push((format!("{base}.data/scripts/{name}"), true, program));
    }
    for name in ["LICENSE", "THIRD-PARTY-LICENCES.txt"] {
        let text = tree.read(&format!("share/doc/beads/{name}"))?.to_vec();
        files.push((format!("{base}.dist-info/licenses/{name}"), false, text));
    }
    files.push((format!("{base}.dist-info/METADATA"), false, metadata()?.into_bytes()));
    files.push((format!("{base}.dist-info/WHEEL"), false, wheel(architecture).into_bytes()));
    let mut record = String::new();
    let mut zip = Zip::default();
    for (path, is_executable, bytes) in &files {
        let _ = writeln!(record, "{path},sha256={},{}", base64(&Sha256::digest(bytes)), bytes.len());
        zip.file(path, *is_executable, bytes)?;
    }
    let path = format!("{base}.dist-info/RECORD");
    let _ = writeln!(record, "{path},,");
    zip.file(&path, false, record.as_bytes())?;
    zip.finish()
}

fn metadata() -> Result<String> {
    let readme = fs::read_to_string("clients/python/README.md")?;
    Ok(format!(
        "Metadata-Version: 2.4\nName: beads-rs\nVersion: {}\nSummary: bd and bb, the local-first issue tracker for coding agents, \
         with a typed client\nLicense-Expression: MIT\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n{readme}",
        version(VERSION)
    ))
}

fn wheel(architecture: Architecture) -> String {
    let mut text = String::from("Wheel-Version: 1.0\nGenerator: beads-rs\nRoot-Is-Purelib: false\n");
    for platform in platforms(architecture) {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

/// Returns bytes in the alphabet for URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(number >> (18 - 6 * place)) as usize & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_has_no_padding_and_versions_sort_like_python() {
        let encoded = ["", "f", "fo", "foo", "foob"].map(|text| super::base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg", "Zm8", "Zm9v", "Zm9vYg"]);
        assert_eq!(super::version("1.0.0-rc.1"), "1.0.0rc1");
    }
}
