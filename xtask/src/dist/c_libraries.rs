//! The C libraries in the programs. Crates contain their source, so the metadata of cargo does not name them.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::metadata::{Metadata, Package};
use crate::arguments::Result;

/// A C library inside a crate.
#[derive(Debug)]
pub struct CLibrary {
    pub name: &'static str,
    /// The crate with its source.
    pub within: &'static str,
    /// The licence, as an SPDX expression.
    pub licence: &'static str,
    /// The text of the licence, below the directory of the crate.
    pub licence_file: &'static str,
    /// The header that defines the version, and the name of the definition.
    version_in: (&'static str, &'static str),
}

pub const C_LIBRARIES: [CLibrary; 4] = [
    CLibrary {
        name: "libgit2",
        within: "libgit2-sys",
        licence: "GPL-2.0-only WITH GCC-exception-2.0",
        licence_file: "libgit2/COPYING",
        version_in: ("libgit2/include/git2/version.h", "LIBGIT2_VERSION"),
    },
    CLibrary {
        name: "libssh2",
        within: "libssh2-sys",
        licence: "BSD-3-Clause",
        licence_file: "libssh2/COPYING",
        version_in: ("libssh2/include/libssh2.h", "LIBSSH2_VERSION"),
    },
    CLibrary {
        name: "zlib",
        within: "libz-sys",
        licence: "Zlib",
        licence_file: "src/zlib/LICENSE",
        version_in: ("src/zlib/zlib.h", "ZLIB_VERSION"),
    },
    CLibrary {
        name: "openssl",
        within: "openssl-src",
        licence: "Apache-2.0",
        licence_file: "openssl/LICENSE.txt",
        // Its headers are made during the build; the version of the crate ends with that of the library.
        version_in: ("", ""),
    },
];

impl CLibrary {
    /// Returns the crate that contains this library, if the programs use it.
    pub fn package<'a>(&self, metadata: &'a Metadata) -> Option<&'a Package> {
        metadata.0.values().find(|package| package.name == self.within)
    }

    /// Returns the version of the library in this crate.
    pub fn version(&self, package: &Package) -> Result<String> {
        let (header, name) = self.version_in;
        if header.is_empty() {
            let (_, version) = package.version.split_once('+').ok_or("openssl-src names no version")?;
            return Ok(version.to_owned());
        }
        let path = package.directory.join(header);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let found = text.lines().find_map(|line| {
            let value = line.strip_prefix("#define ")?.strip_prefix(name)?.trim();
            value.strip_prefix('"')?.strip_suffix('"')
        });
        Ok(found.ok_or_else(|| format!("{} does not define {name}", path.display()))?.to_owned())
    }
}

/// Returns the version of the C library that a compiler links statically, such as `2.36`.
pub fn glibc_version(compiler: &str) -> Result<String> {
    let mut asked = Command::new(compiler)
        .args(["-E", "-P", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = asked.stdin.take() {
        input.write_all(b"#include <features.h>\n__GLIBC__.__GLIBC_MINOR__\n")?;
    }
    let text = String::from_utf8(asked.wait_with_output()?.stdout)?;
    let version: String = text.lines().last().unwrap_or_default().split_whitespace().collect();
    match version.split_once('.').is_some_and(|(major, _)| major.parse::<u32>().is_ok()) {
        true => Ok(version),
        false => Err(format!("{compiler} does not use the GNU C library").into()),
    }
}
