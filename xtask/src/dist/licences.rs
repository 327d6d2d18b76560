//! Collects the licences of everything that is compiled into the programs.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::c_libraries::C_LIBRARIES;
use super::metadata::{Metadata, Package};
use super::standard_library;
use crate::arguments::Result;

/// What the C library of the machine that builds the programs adds.
const C_LIBRARY: &str = "The programs are linked statically with the GNU C library, which is under the LGPL 2.1 or later. Its source \
is at https://www.gnu.org/software/libc/. To link the programs with another version of it, build them from \
the source of this release: cargo build --release.\n";

/// Returns the text of `THIRD-PARTY-LICENCES.txt`.
pub fn text(metadata: &Metadata) -> Result<String> {
    let foreign: Vec<&Package> = metadata.0.values().filter(|package| !package.is_own).collect();
    let mut text = format!(
        "bd and bb contain {} libraries and the Rust standard library, whose notices are at the end.\n\n{C_LIBRARY}\n",
        foreign.len()
    );
    for package in &foreign {
        let _ = writeln!(text, "  {} {}: {}", package.name, package.version, package.licence);
    }
    for package in foreign {
        let files = licence_files(package)?;
        if package.licence.is_empty() && files.is_empty() {
            return Err(format!("{} {} names no licence", package.name, package.version).into());
        }
        let _ = writeln!(
            text,
            "\n{}\n{} {} ({})",
            "=".repeat(80),
            package.name,
            package.version,
            package.licence
        );
        for file in files {
            let _ = writeln!(text, "\n{}", file.trim_end());
        }
    }
    let version = standard_library::version()?;
    let _ = writeln!(
        text,
        "\n{}\nThe Rust standard library {version} (MIT OR Apache-2.0)\n\n{}",
        "=".repeat(80),
        standard_library::notices()?
    );
    Ok(text)
}

/// Returns the texts of the licences in the directory of a crate.
fn licence_files(package: &Package) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(&package.directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence =
            ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|begin| name.starts_with(begin));
        if is_licence && entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let libraries = C_LIBRARIES.iter().filter(|library| library.within == package.name);
    paths.extend(libraries.map(|library| package.directory.join(library.licence_file)));
    let read = |path: &PathBuf| match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    };
    paths.iter().map(read).collect()
}
