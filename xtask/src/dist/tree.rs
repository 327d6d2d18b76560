use std::fs;
use std::path::Path;

use super::binaries::Binaries;
use super::tar::Tar;
use super::{VERSION, tar};
use crate::arguments::Result;

/// A file of a package.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The path below the prefix, such as `bin/bd`.
    pub path: String,
    pub is_executable: bool,
    pub bytes: Vec<u8>,
}

/// The files that every package has, by their path below the prefix.
#[derive(Debug)]
pub struct Tree(pub Vec<Entry>);

impl Tree {
    /// Collects the files. `native` are programs that run on this machine: they print completions and manual pages.
    pub fn collect(binaries: &Binaries, native: &Binaries, licences: String) -> Result<Self> {
        let mut tree = Self(Vec::new());
        for name in ["bd", "bb"] {
            tree.add(&format!("bin/{name}"), true, binaries.read(name)?);
        }
        for (shell, path) in [
            ("bash", "share/bash-completion/completions/bd"),
            ("zsh", "share/zsh/site-functions/_bd"),
            ("fish", "share/fish/vendor_completions.d/bd.fish"),
        ] {
            tree.add(path, false, native.output(&["completions", shell])?);
        }
        let scratch = Path::new("target/dist-man");
        if scratch.exists() {
            fs::remove_dir_all(scratch)?;
        }
        native.output(&["man", "--dir", &scratch.display().to_string()])?;
        for entry in fs::read_dir(scratch)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            tree.add(&format!("share/man/man1/{name}"), false, fs::read(entry.path())?);
        }
        for name in ["README.md", "CHANGELOG.md", "LICENSE"] {
            tree.add(&format!("share/doc/beads/{name}"), false, fs::read(name)?);
        }
        tree.add("share/doc/beads/THIRD-PARTY-LICENCES.txt", false, licences.into_bytes());
        tree.0.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(tree)
    }

    fn add(&mut self, path: &str, is_executable: bool, bytes: Vec<u8>) {
        self.0.push(Entry { path: path.to_owned(), is_executable, bytes });
    }

    /// Returns the bytes of a file.
    pub fn read(&self, path: &str) -> Result<&[u8]> {
        let found = self.0.iter().find(|entry| entry.path == path);
        Ok(&found.ok_or_else(|| format!("{path} is missing"))?.bytes)
    }

    /// Returns a `.tar.gz` with one directory.
    pub fn archive(&self, epoch: u64) -> Result<Vec<u8>> {
        let mut tar = Tar::new(epoch);
        for entry in &self.0 {
            tar.file(&format!("beads-{VERSION}/{}", entry.path), entry.is_executable, &entry.bytes)?;
        }
        tar::gzip(&tar.finish())
    }
}
